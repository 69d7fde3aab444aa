// Programs in OpenCL C, and the kernels in them.
#pragma once
#include "device/kernel.h"
#include "device/opencl/opencl_context.h"

namespace opd::cl {

std::unique_ptr<DeviceProgram> build_program(const DeviceContext &context, const DeviceCode &code);  // throws

}  // namespace opd::cl
