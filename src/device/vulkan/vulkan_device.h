// Vulkan devices, through the loader of Vulkan's drivers. They are numbered in this order: discrete GPUs, integrated
// GPUs, virtual GPUs, other devices, and drivers that run on processors.
#pragma once
#include "device/device.h"

namespace opd {

DeviceBackend &vulkan_backend();

}  // namespace opd
