#include "device/vulkan/vulkan_stream.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "value/value.h"

namespace opd::vk {
namespace {

constexpr size_t kLeastStaging = size_t{64} << 10, kMostStaging = size_t{4} << 20;

void add_barrier(const Api &api, CommandBuffer *commands, uint32_t stages, uint32_t access) {
  MemoryBarrier barrier;
  barrier.source = kMemoryRead | kMemoryWrite, barrier.target = access;
  api.vkCmdPipelineBarrier(commands, kStageAll, stages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace

Stream::Stream(DeviceContext &context) : context_(context) {
  const Api &api = context.api();
  CommandPoolInfo pool;
  pool.flags = kResettable, pool.family = context.facts().family;
  check(api.vkCreateCommandPool(context.device(), &pool, nullptr, &pool_), "vkCreateCommandPool");
  SemaphoreType type;
  type.kind = kTimeline;
  SemaphoreInfo semaphore;
  semaphore.next = &type;
  if (const Result result = api.vkCreateSemaphore(context.device(), &semaphore, nullptr, &progress_)) {
    api.destroy(api.vkDestroyCommandPool, context.device(), pool_);
    check(result, "vkCreateSemaphore");
  }
}

Stream::~Stream() {
  const Api &api = context_.api();
  const std::scoped_lock lock(context_.queue_guard());
  open_.reset();
  running_.clear();
  free_.clear();
  api.destroy(api.vkDestroyCommandPool, context_.device(), pool_);
  api.destroy(api.vkDestroySemaphore, context_.device(), progress_);
}

void Stream::begin() {
  const Api &api = context_.api();
  if (!open_) {
    Work work;
    if (!free_.empty()) {
      work = std::move(free_.back());
      free_.pop_back();
    } else {
      CommandBufferInfo info;
      info.pool = pool_, info.count = 1;
      check(api.vkAllocateCommandBuffers(context_.device(), &info, &work.commands), "vkAllocateCommandBuffers");
    }
    BeginInfo info;
    info.flags = kOnce;
    if (const Result result = api.vkBeginCommandBuffer(work.commands, &info)) {
      drop(std::move(work));
      check(result, "vkBeginCommandBuffer");
    }
    open_ = std::move(work);
  }
  add_barrier(api, open_->commands, kStageAll, kMemoryRead | kMemoryWrite);
}

void Stream::flush() {
  if (!open_) return;
  Work work = std::move(*open_);
  open_.reset();
  try {
    check(context_.api().vkEndCommandBuffer(work.commands), "vkEndCommandBuffer");
    work.number = last_ + 1;
    TimelineInfo timeline;
    timeline.signal_count = 1, timeline.signal_values = &work.number;
    SubmitInfo info;
    info.next = &timeline;
    info.command_count = 1, info.commands = &work.commands;
    info.signal_count = 1, info.signals = &progress_;
    running_.emplace_back();  // before the work is given, so that no failure can follow
    try {
      context_.submit(info);
    } catch (...) {
      running_.pop_back();
      throw;
    }
    last_ = work.number;
    running_.back() = std::move(work);
  } catch (...) {
    drop(std::move(work));
    throw;
  }
}

void Stream::drop(Work work) noexcept {
  work.kept.clear();
  work.size = 0;
  try {
    free_.push_back(std::move(work));
  } catch (const std::bad_alloc &) {}  // the pool frees the commands at the stream's end
}

void Stream::take_back() {
  if (running_.empty()) return;
  uint64_t done = 0;
  check(context_.api().vkGetSemaphoreCounterValue(context_.device(), progress_, &done), "vkGetSemaphoreCounterValue");
  while (!running_.empty() && running_.front().number <= done) {
    drop(std::move(running_.front()));
    running_.pop_front();
  }
}

void Stream::wait(uint64_t number) {
  {
    const std::scoped_lock lock(context_.queue_guard());
    if (number > last_) flush();
  }
  WaitInfo info;
  info.count = 1, info.semaphores = &progress_, info.values = &number;
  check(context_.api().vkWaitSemaphores(context_.device(), &info, ~uint64_t{0}), "vkWaitSemaphores");
}

void Stream::sync() {
  uint64_t number;
  {
    const std::scoped_lock lock(context_.queue_guard());
    flush();
    number = last_;
  }
  wait(number);
  const std::scoped_lock lock(context_.queue_guard());
  take_back();
}

DeviceBuffer &Stream::staging(size_t bytes) {
  const size_t wanted = std::clamp(std::bit_ceil(std::min(bytes, kMostStaging)), kLeastStaging, kMostStaging);
  if (!staging_ || staging_->bytes() < wanted) {
    staging_.reset();
    staging_ = DeviceBuffer::make(context_, wanted, DeviceBuffer::Use::kStaging);
    if (!staging_)
      fail(OPD_OUT_OF_MEMORY, "vulkan:", context_.number(), " has no ", wanted,
           " bytes for copies from and to the host");
  }
  return *staging_;
}

void Stream::write(const void *from, const Place &to, size_t bytes) {
  const Api &api = context_.api();
  const std::scoped_lock lock(staging_guard_);
  const DeviceBuffer &stage = staging(bytes);
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, kMostStaging);
    std::memcpy(stage.host(), static_cast<const char *>(from) + done, part);
    wait(submit([&](Work &work) {
      const BufferCopy region{0, to.offset + done, part};
      api.vkCmdCopyBuffer(work.commands, stage.handle(), to.buffer->handle(), 1, &region);
      work.kept.push_back(to.buffer);
    }));
    done += part;
  }
}

void Stream::read(const Place &from, void *to, size_t bytes) {
  const Api &api = context_.api();
  const std::scoped_lock lock(staging_guard_);
  const DeviceBuffer &stage = staging(bytes);
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, kMostStaging);
    wait(submit([&](Work &work) {
      const BufferCopy region{from.offset + done, 0, part};
      api.vkCmdCopyBuffer(work.commands, from.buffer->handle(), stage.handle(), 1, &region);
      add_barrier(api, work.commands, kStageHost, kHostRead);
      work.kept.push_back(from.buffer);
    }));
    std::memcpy(static_cast<char *>(to) + done, stage.host(), part);
    done += part;
  }
}

void Stream::copy(const Place &from, const Place &to, size_t bytes) {
  submit([&](Work &work) {
    const BufferCopy region{from.offset, to.offset, bytes};
    context_.api().vkCmdCopyBuffer(work.commands, from.buffer->handle(), to.buffer->handle(), 1, &region);
    work.kept.push_back(from.buffer);
    work.kept.push_back(to.buffer);
  });
}

}  // namespace opd::vk
