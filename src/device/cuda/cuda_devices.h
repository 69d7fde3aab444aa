// The CUDA devices of the process, found at the first use of one.
#pragma once
#include "device/cuda/cuda_context.h"

namespace opd::cuda {

const DeviceContext *find_cuda_device(int32_t id);  // null: there is none of this number
// Throws OPD_UNSUPPORTED for an absent device, and in a child of fork() whose parent started the driver.
const DeviceContext &get_cuda_device(int32_t id);
std::string absence_of_cuda_device(int32_t id);  // why there is none; one clause

}  // namespace opd::cuda
