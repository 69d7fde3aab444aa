// Graphs of the CUDA driver: work that was submitted to a stream during its capture.
#pragma once
#include "device/cuda/cuda_context.h"
#include "device/kernel.h"

namespace opd::cuda {

bool has_graphs(const Api &api);  // true for drivers of CUDA 11.4 and newer
void begin_capture(const DeviceContext &device, Stream *stream);
// Throws if the driver refused any of the captured work.
std::unique_ptr<DeviceGraph> end_capture(const DeviceContext &device, Stream *stream);

}  // namespace opd::cuda
