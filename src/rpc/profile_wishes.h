// What a client says of a profile that its server is to make: JSON, of which both sides skip what they do not know.
#pragma once
#include <string>

#include "profiler/vm_profile.h"

namespace opd::rpc {

// Offered by opdyno's servers: functions of their VMs, and one that gives their Unix time in ns.
inline constexpr const char *kProfileFunction = "opdyno.profile", *kProfileStart = "opdyno.profile_start",
                            *kProfileStop = "opdyno.profile_stop", *kClockFunction = "opdyno.rpc.unix_ns";

struct ProfileWishes {
  std::string function;
  VmProfileOptions options;  // without `file`
  bool wants_trace = false;
};

std::string write_wishes(const ProfileWishes &wishes);  // throws for collectors that cannot be made there
ProfileWishes read_wishes(std::string_view json);       // makes the collectors; throws

}  // namespace opd::rpc
