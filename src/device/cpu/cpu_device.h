// The host as a device: kDLCPU, id 0.
#pragma once
#include "device/device.h"

namespace opd {

// All are the same processors and memory; each has allocators and statistics of its own. TVM takes any number.
inline constexpr int32_t kCpuDevices = 64;

DeviceBackend &cpu_backend();

}  // namespace opd
