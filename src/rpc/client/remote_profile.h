// Profiles of programs on another machine: made there, with the collectors there, on the clock of this one.
#pragma once
#include "profiler/vm_profile.h"
#include "rpc/client/remote_vm.h"

namespace opd::rpc {

// As profile_named(). Without `wants_trace`, there is none. Throws OPD_UNSUPPORTED with a server of TVM's.
VmProfile profile_there(const RemoteVm &vm, std::string_view name, Args args, const CallSettings &settings,
                        const VmProfileOptions &options, bool wants_trace);

// As start_profile() and stop_profile(), likewise.
void start_profile_there(const RemoteVm &vm, const VmProfileOptions &options);
VmProfile stop_profile_there(const RemoteVm &vm, bool wants_trace);

}  // namespace opd::rpc
