// CUDA devices, by the driver API of NVIDIA's driver, in the driver's order.
#pragma once
#include "device/device.h"

namespace opd {

DeviceBackend &cuda_backend();

}  // namespace opd
