// Devices of this machine, as the library finds them.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "face.h"

namespace opd::cli {

Value attribute_of(DLDevice device, opd_device_attr attr);  // none if this build lacks that kind of device
std::string kind_name(DLDeviceType kind);                   // "cuda"
std::vector<DLDevice> devices_of(DLDeviceType kind);        // of the CPU one
std::vector<DLDevice> devices();                            // of all kinds
// Kinds without a device, and why.
std::vector<std::pair<std::string, std::string>> absent_kinds();
// Why there is no device of the kind; "" if there is one.
std::string absence_of(DLDeviceType kind);
// Why sessions with other machines cannot go through TLS; "": they can.
std::string tls_absence();

}  // namespace opd::cli
