// OpenCL devices, by the loader of OpenCL's drivers (ICD). Numbers go through the platforms: first the GPUs and
// accelerators of all, then the processors.
#pragma once
#include "device/device.h"

namespace opd {

DeviceBackend &opencl_backend();

}  // namespace opd
