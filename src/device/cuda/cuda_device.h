// CUDA devices, through NVIDIA's driver API, in the driver's order.
#pragma once
#include "device/device.h"

namespace opd {

DeviceBackend &cuda_backend();

}  // namespace opd
