// Blocks of CUDA devices. If driver and device have stream-ordered memory, a block that is given back is free when the
// device has done the work before, and the host does not wait for that.
#pragma once
#include "base/fork_mutex.h"
#include "device/cuda/cuda_context.h"

namespace opd::cuda {

// Two streams of a device. The one in which blocks are allocated has no other work, so a new block can be used in every
// stream at once. The other one, in which they are freed, waits for all streams of the library.
class BlockStreams {
 public:
  explicit BlockStreams(const DeviceContext &device);  // throws; never ends, as the device
  BlockStreams(const BlockStreams &) = delete;

  Address allocate(size_t bytes);  // 0 without memory
  void free(Address block);        // throws if the block is not freed
  void settle();                   // waits until all that were given back are free

 private:
  const DeviceContext &device_;
  Stream *allocating_ = nullptr, *freeing_ = nullptr;
  ForkMutex guard_{LockRank::kDeviceQueue};
  Event *event_ = nullptr;  // recorded in each stream in turn
};

void *allocate_block(const DeviceContext &device, size_t bytes);  // null without memory; throws
void free_block(const DeviceContext &device, void *data) noexcept;

}  // namespace opd::cuda
