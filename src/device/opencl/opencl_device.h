// OpenCL devices, through the loader of OpenCL's drivers (ICD). Numbers go through all platforms: first the GPUs and
// accelerators, then the processors.
#pragma once
#include "device/device.h"

namespace opd {

DeviceBackend &opencl_backend();

}  // namespace opd
