// Code that the driver has loaded for a device, and the kernels in it.
#pragma once
#include "device/cuda/cuda_context.h"
#include "device/kernel.h"

namespace opd::cuda {

std::unique_ptr<DeviceProgram> build_program(const DeviceContext &device, const DeviceCode &code);  // throws

}  // namespace opd::cuda
