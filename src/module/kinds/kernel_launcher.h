// The function of a device's kernel. It turns packed arguments into a launch.
#pragma once
#include "module/kinds/device_module.h"

namespace opd {

Ref<Function> make_kernel_launcher(Ref<DeviceModule> module, size_t index, const KernelInfo &kernel);

}  // namespace opd
