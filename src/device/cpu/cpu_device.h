// The host as a device: kDLCPU, id 0.
#pragma once
#include "device/device.h"

namespace opd {

// All CPU devices share the same processors and memory, but each has its own allocators and statistics. TVM accepts any
// device number.
inline constexpr int32_t kCpuDevices = 64;

DeviceBackend &cpu_backend();

}  // namespace opd
