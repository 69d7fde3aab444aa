// The list of the process' CUDA devices, made at the first use of one.
#pragma once
#include "device/cuda/cuda_context.h"

namespace opd::cuda {

const DeviceContext *find_cuda_device(int32_t id);  // null if there is no such device
// Throws OPD_UNSUPPORTED for an absent device, or in a child of fork() whose parent started the driver.
const DeviceContext &get_cuda_device(int32_t id);
std::string absence_of_cuda_device(int32_t id);  // reason for the absence; one clause

}  // namespace opd::cuda
