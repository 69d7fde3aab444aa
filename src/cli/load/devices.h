// Devices of this machine, as the library finds them, or of another one.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/support/face.h"

namespace opd::cli {

// The device here that stands for one of a session's machine.
using Reach = std::function<DLDevice(DLDevice there)>;
inline DLDevice here(DLDevice device) { return device; }

// None if there is no such property, or this build lacks that kind of device. A lost connection is thrown.
Value attribute_of(DLDevice device, opd_device_attr attr);
std::string kind_name(DLDeviceType kind);                                        // "cuda"
std::vector<DLDevice> devices_of(DLDeviceType kind, const Reach &reach = here);  // of the CPU one
std::vector<DLDevice> devices(const Reach &reach = here);                        // of all kinds
// Kinds without a device, and why.
std::vector<std::pair<std::string, std::string>> absent_kinds(const Reach &reach = here);
// Why there is no device of the kind; "" if there is one, or another machine does not tell.
std::string absence_of(DLDeviceType kind, const Reach &reach = here);
// Why sessions with other machines cannot go through TLS; "": they can.
std::string tls_absence();

}  // namespace opd::cli
