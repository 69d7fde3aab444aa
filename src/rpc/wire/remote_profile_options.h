// The options of a profile that a server makes for its client, as JSON. Both sides skip members that they do not know.
#pragma once
#include <string>

#include "profiler/vm_profile.h"

namespace opd::rpc {

// Offered by opdyno's servers: functions of their VMs, and one that gives their Unix time in ns.
inline constexpr const char *kProfileFunction = "opdyno.profile", *kProfileStart = "opdyno.profile_start",
                            *kProfileStop = "opdyno.profile_stop", *kClockFunction = "opdyno.rpc.unix_ns";

struct RemoteProfileOptions {
  std::string function;
  VmProfileOptions options;  // without `file`
  bool wants_trace = false;
};

// Throws for collectors that the server cannot make.
std::string write_profile_options(const RemoteProfileOptions &remote);
// Makes the collectors; throws.
RemoteProfileOptions read_profile_options(std::string_view json);

}  // namespace opd::rpc
