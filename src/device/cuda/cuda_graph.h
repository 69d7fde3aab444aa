// Graphs of the driver: the work that a stream was given while it was captured.
#pragma once
#include "device/cuda/cuda_context.h"
#include "device/kernel.h"

namespace opd::cuda {

bool has_graphs(const Api &api);  // drivers of CUDA 11.4 and newer have them
void begin_capture(const DeviceContext &device, Stream *stream);
// Throws if the driver has refused something that was given to the stream.
std::unique_ptr<DeviceGraph> end_capture(const DeviceContext &device, Stream *stream);

}  // namespace opd::cuda
