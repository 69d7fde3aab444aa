// Memory blocks of CUDA devices. If the driver and the device have stream-ordered memory, a returned block becomes free
// when the device has completed the earlier work. The host does not wait for that.
#pragma once
#include "base/fork_mutex.h"
#include "device/cuda/cuda_context.h"

namespace opd::cuda {

// Two streams of a device. Blocks are allocated in the first one, which has no other work. So a new block can be used
// in every stream at once. Blocks are freed in the second one, which waits for all streams of the library.
class BlockStreams {
 public:
  explicit BlockStreams(const DeviceContext &device);  // throws; lives as long as the device
  BlockStreams(const BlockStreams &) = delete;

  Address allocate(size_t bytes);  // 0 if memory is short
  void free(Address block);        // throws if freeing fails
  void settle();                   // waits until all returned blocks are free

 private:
  const DeviceContext &device_;
  Stream *allocating_ = nullptr, *freeing_ = nullptr;
  ForkMutex guard_{LockRank::kDeviceQueue};
  Event *event_ = nullptr;  // recorded in each stream in turn
};

void *allocate_block(const DeviceContext &device, size_t bytes);  // null if memory is short; throws
void free_block(const DeviceContext &device, void *data) noexcept;

}  // namespace opd::cuda
