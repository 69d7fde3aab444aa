// The options of a profile that a server makes for its client, as JSON. Both sides skip members that they do not know.
#pragma once
#include <string>

#include "profiler/vm_profile.h"

namespace opd::rpc {

// Functions of opdyno's servers: those of their VMs, and one that returns the server's Unix time in ns.
inline constexpr const char *kProfileFunction = "opdyno.profile", *kProfileStart = "opdyno.profile_start",
                            *kProfileStop = "opdyno.profile_stop", *kClockFunction = "opdyno.rpc.unix_ns";

struct RemoteProfileOptions {
  std::string function;
  VmProfileOptions options;  // without `file`
  bool wants_trace = false;
};

// Throws for collectors that the server cannot make.
std::string write_profile_options(const RemoteProfileOptions &remote);
// Also makes the collectors. Throws if the options are bad.
RemoteProfileOptions read_profile_options(std::string_view json);

}  // namespace opd::rpc
