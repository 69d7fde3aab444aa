// Finds the devices of this machine or of another one.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/support/face.h"

namespace opd::cli {

// Maps a device of a session's machine to its local stand-in.
using Reach = std::function<DLDevice(DLDevice there)>;
inline DLDevice here(DLDevice device) { return device; }

// None if there is no such property, or this build lacks that kind of device. A lost connection is thrown.
Value attribute_of(DLDevice device, opd_device_attr attr);
std::string kind_name(DLDeviceType kind);                                        // "cuda"
std::vector<DLDevice> devices_of(DLDeviceType kind, const Reach &reach = here);  // the CPU has one
std::vector<DLDevice> devices(const Reach &reach = here);                        // devices of all kinds
// Kinds without a device, with the reasons.
std::vector<std::pair<std::string, std::string>> absent_kinds(const Reach &reach = here);
// The reason why there is no device of the kind; "" if there is one, or if another machine does not report it.
std::string absence_of(DLDeviceType kind, const Reach &reach = here);
// The reason why sessions with other machines cannot use TLS; "": they can.
std::string tls_absence();

}  // namespace opd::cli
