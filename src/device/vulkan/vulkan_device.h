// Vulkan devices, by the loader of Vulkan's drivers. Numbers go through the discrete GPUs, then the integrated and the
// virtual ones, other devices, and last the drivers that run on processors.
#pragma once
#include "device/device.h"

namespace opd {

DeviceBackend &vulkan_backend();

}  // namespace opd
