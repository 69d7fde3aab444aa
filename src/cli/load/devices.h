// The devices and collectors of a machine, by their names on the command line. Devices may be on another machine.
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

// Returns none if there is no such property, or if this build lacks that kind of device. Throws if the connection is
// lost.
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

// `spec` is "memory", or "papi:EVENT,EVENT". Fails with Exit::usage for an unknown name, with Exit::failed for events
// that cannot be measured on this machine. Without events, unavailable ones of the usual set are left out. `elsewhere`:
// another machine measures, and checks the events itself.
Collector make_collector(std::string_view spec, bool elsewhere = false);
// Returns one line per collector: whether it works on this machine, and if not, why.
std::string collectors_text();
// The reason why a collector's usual events cannot be measured on this machine; "" if they can.
std::string collector_problem(std::string_view name);

// Warns of cpu:1 and so on, which TVM's runtime and the library take, but which are no other processors.
void warn_of_cpu_number(DLDevice device);

}  // namespace opd::cli
