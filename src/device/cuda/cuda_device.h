// CUDA devices, by the driver API of NVIDIA's driver, in the driver's order; and memory of the host that they copy from
// and to without a stage, kind "cuda_host".
#pragma once
#include "device/device.h"

namespace opd {

DeviceBackend &cuda_backend();
DeviceBackend &cuda_host_backend();

}  // namespace opd
