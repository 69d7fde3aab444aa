#include "device/cuda/cuda_memory.h"

#include <mutex>

#include "device/device.h"

namespace opd::cuda {

BlockStreams::BlockStreams(const DeviceContext &device) : device_(device) {
  const Api &api = device.api();
  const CurrentContext current(device);
  try {
    api.check(api.cuStreamCreate(&allocating_, kNonBlocking), "cuStreamCreate");
    api.check(api.cuStreamCreate(&freeing_, kNonBlocking), "cuStreamCreate");
    api.check(api.cuEventCreate(&event_, kNoTiming), "cuEventCreate");
  } catch (const Exception &) {
    device.release(api.cuStreamDestroy_v2, allocating_);
    device.release(api.cuStreamDestroy_v2, freeing_);
    throw;
  }
}

Address BlockStreams::allocate(size_t bytes) {
  const Api &api = device_.api();
  Address block = 0;
  Status status = api.cuMemAllocAsync(&block, bytes, allocating_);
  if (status == kOutOfMemory) {
    settle();
    status = api.cuMemAllocAsync(&block, bytes, allocating_);
  }
  if (status == kOutOfMemory) return 0;
  api.check(status, "cuMemAllocAsync");
  if (const Status failure = api.cuStreamSynchronize(allocating_)) {
    api.cuMemFree_v2(block);
    api.check(failure, "cuStreamSynchronize");
  }
  return block;
}

void BlockStreams::free(Address block) {
  const Api &api = device_.api();
  with_streams({kDLCUDA, device_.number()}, [&](std::span<void *const> streams) {
    const std::scoped_lock lock(guard_);
    for (void *const stream : streams) {
      api.check(api.cuEventRecord(event_, static_cast<Stream *>(stream)), "cuEventRecord");
      api.check(api.cuStreamWaitEvent(freeing_, event_, 0), "cuStreamWaitEvent");
    }
    api.check(api.cuMemFreeAsync(block, freeing_), "cuMemFreeAsync");
  });
}

void BlockStreams::settle() { device_.api().check(device_.api().cuStreamSynchronize(freeing_), "cuStreamSynchronize"); }

void *allocate_block(const DeviceContext &device, size_t bytes) {
  const Api &api = device.api();
  const CurrentContext current(device);
  Address block = 0;
  if (BlockStreams *const streams = device.block_streams()) {
    block = streams->allocate(bytes);
  } else if (const Status status = api.cuMemAlloc_v2(&block, bytes); status != kOutOfMemory) {
    api.check(status, "cuMemAlloc");
  }
  return reinterpret_cast<void *>(block);
}

void free_block(const DeviceContext &device, void *data) noexcept try {
  const Api &api = device.api();
  const auto block = static_cast<Address>(reinterpret_cast<uintptr_t>(data));
  const CurrentContext current(device);
  try {
    if (BlockStreams *const streams = device.block_streams()) return streams->free(block);
  } catch (const Exception &) {}  // continue as for devices without such streams
  api.cuCtxSynchronize();         // the manual does not promise that cuMemFree() waits for the work of every stream
  api.cuMemFree_v2(block);
} catch (const std::exception &) {}  // the driver has ended

}  // namespace opd::cuda
