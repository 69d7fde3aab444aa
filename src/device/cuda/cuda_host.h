// Memory of the host that CUDA devices reach ("pinned"): there if there is a CUDA device. The processor uses it as it
// uses its own; copies to and from devices need no stage.
#pragma once
#include "device/cuda/cuda_context.h"
#include "device/device.h"

namespace opd {

DeviceBackend &cuda_host_backend();  // kind "cuda_host"

namespace cuda {

// Whether a copy that the stream was given may read the memory after it has returned. Then the memory waits for the
// copy when its owner returns it. False: the copy must be waited for, because the memory is of another owner, or the
// stream is not one that the program made, or a VM runs, which reuses the memory of its tensors without a word.
bool keep_until_read(const void *data, const DeviceContext &device, void *stream) noexcept;

}  // namespace cuda
}  // namespace opd
