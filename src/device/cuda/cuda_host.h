// Pinned host memory, which CUDA devices can access. It exists if there is a CUDA device. The processor uses it like
// other memory. Copies to and from devices need no staging buffer.
#pragma once
#include "device/cuda/cuda_context.h"
#include "device/device.h"

namespace opd {

DeviceBackend &cuda_host_backend();  // kind "cuda_host"

namespace cuda {

// Whether a copy submitted to the stream may read the memory after the call has returned. If so, the memory waits for
// the copy when its owner returns it. If not, the caller must wait for the copy. There are three reasons: the memory
// has another owner; the program did not create the stream; or a VM runs, which reuses the memory of its tensors
// without notice.
bool keep_until_read(const void *data, const DeviceContext &device, void *stream) noexcept;

}  // namespace cuda
}  // namespace opd
