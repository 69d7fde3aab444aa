// VMs of a session: the program and its state are on the other side.
#pragma once
#include "rpc/remote_objects.h"
#include "vm/any_vm.h"

namespace opd::rpc {

// Throws for settings that servers do not know, and for devices that are not of the module's session.
Ref<AnyVm> make_vm(Ref<RemoteModule> program, const VmSettings &settings);

}  // namespace opd::rpc
