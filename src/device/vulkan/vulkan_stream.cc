#include "device/vulkan/vulkan_stream.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "value/value.h"

namespace opd::vk {

// ---- buffers

namespace {

// Sizes are rounded up to this, because a kernel may read whole words at the end of a buffer of bytes.
constexpr uint64_t kUnit = 16;

struct Kind {
  uint32_t usage, best_memory, least_memory;  // every device has memory with `least_memory`
};
Kind kind_of(DeviceBuffer::Use use) {
  constexpr uint32_t kCopied = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  constexpr uint32_t kOfHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  switch (use) {
    case DeviceBuffer::Use::kStaging:
      return {kCopied, kOfHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kOfHost};
    case DeviceBuffer::Use::kScalars:
      return {VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, kOfHost | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, kOfHost};
    default:
      return {kCopied | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  }
}

}  // namespace

Buffers &buffers() {
  static auto *const made = new Buffers("vulkan");
  return *made;
}

std::shared_ptr<DeviceBuffer> DeviceBuffer::make(const DeviceContext &context, uint64_t bytes, Use use) {
  if (bytes > context.facts().properties11.maxMemoryAllocationSize - kUnit) return nullptr;
  const std::shared_ptr<DeviceBuffer> made(
      new DeviceBuffer(context, (std::max<uint64_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit));
  const VkResult result = made->allocate(use);
  if (is_out_of_memory(result)) return nullptr;
  check(result, "the allocation of a buffer");
  return made;
}

VkResult DeviceBuffer::allocate(Use use) {
  const Api &api = context_.api();
  const Kind kind = kind_of(use);
  auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes_, info.usage = kind.usage;
  if (const VkResult result = api.vkCreateBuffer(context_.device(), &info, nullptr, &handle_)) return result;
  VkMemoryRequirements needs{};
  api.vkGetBufferMemoryRequirements(context_.device(), handle_, &needs);
  int32_t type = context_.memory_type(needs.memoryTypeBits, kind.best_memory);
  if (type < 0) type = context_.memory_type(needs.memoryTypeBits, kind.least_memory);
  if (type < 0) fail(OPD_CALL_FAILED, "vulkan:", context_.number(), " has no memory for buffers");
  auto memory = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  memory.allocationSize = needs.size, memory.memoryTypeIndex = static_cast<uint32_t>(type);
  if (needs.size > context_.heap_bytes(memory.memoryTypeIndex)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  if (const VkResult result = api.vkAllocateMemory(context_.device(), &memory, nullptr, &memory_)) return result;
  if (const VkResult result = api.vkBindBufferMemory(context_.device(), handle_, memory_, 0)) return result;
  if (use == Use::kTensor) return VK_SUCCESS;
  return api.vkMapMemory(context_.device(), memory_, 0, VK_WHOLE_SIZE, 0, &host_);  // freeing it unmaps it
}

DeviceBuffer::~DeviceBuffer() {
  const Api &api = context_.api();
  api.destroy(api.vkDestroyBuffer, context_.device(), handle_);
  api.destroy(api.vkFreeMemory, context_.device(), memory_);
}

// ---- streams

namespace {

// A staging buffer lives as long as its stream, so it is small. Larger copies use it in parts.
constexpr size_t kLeastStaging = size_t{64} << 10, kMostStaging = size_t{4} << 20;

// The barrier waits for all commands submitted to the queue before, including those of other streams. A narrower one
// would need to know which buffers a kernel reads and writes.
void add_barrier(const Api &api, VkCommandBuffer commands, uint32_t stages, uint32_t access) {
  auto barrier = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT, barrier.dstAccessMask = access;
  api.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, stages, 0, 1, &barrier, 0, nullptr, 0,
                           nullptr);
}

}  // namespace

// One timeline semaphore serves all works of a stream. A thread can wait for the number of any work. Unlike a fence,
// the semaphore needs no reset.
Progress::Progress(const DeviceContext &context) : context_(context) {
  auto type = structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto info = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  info.pNext = &type;
  check(context.api().vkCreateSemaphore(context.device(), &info, nullptr, &semaphore_), "vkCreateSemaphore");
}

Stream::Stream(DeviceContext &context) : context_(context), progress_(std::make_shared<Progress>(context)) {
  auto pool = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  // Command buffers are reused one by one as their work ends. Without the flag, only the whole pool could be reset.
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, pool.queueFamilyIndex = context.facts().family;
  check(context.api().vkCreateCommandPool(context.device(), &pool, nullptr, &pool_), "vkCreateCommandPool");
}

Stream::~Stream() {
  const Api &api = context_.api();
  // Only one thread at a time may use a command pool, so this lock is held for every use.
  const std::scoped_lock lock(context_.queue_guard());
  open_.reset();
  running_.clear();
  free_.clear();
  api.destroy(api.vkDestroyCommandPool, context_.device(), pool_);
}

void Stream::begin() {
  const Api &api = context_.api();
  if (!open_) {
    Work work;
    if (!free_.empty()) {
      work = std::move(free_.back());
      free_.pop_back();
    } else {
      auto info = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
      info.commandPool = pool_, info.commandBufferCount = 1;
      check(api.vkAllocateCommandBuffers(context_.device(), &info, &work.commands), "vkAllocateCommandBuffers");
    }
    auto info = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    // Return the command buffer to the free ones, so that failures do not exhaust the pool.
    if (const VkResult result = api.vkBeginCommandBuffer(work.commands, &info)) {
      drop(std::move(work));
      check(result, "vkBeginCommandBuffer");
    }
    open_ = std::move(work);
  }
  // Added before each command, not only the first: callers rely on the order within a stream. A copy may read what a
  // kernel has just written.
  add_barrier(api, open_->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
              VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

// Called under the queue's lock, like every function that assigns a number. The semaphore may only be raised, so works
// must reach the queue in the order of their numbers. A number is used only if the queue accepted the work. Otherwise a
// thread could wait for a number that never comes.
void Stream::flush() {
  if (!open_) return;
  Work work = std::move(*open_);
  open_.reset();
  try {
    check(context_.api().vkEndCommandBuffer(work.commands), "vkEndCommandBuffer");
    work.number = last_ + 1;
    auto timeline = structure<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    timeline.signalSemaphoreValueCount = 1, timeline.pSignalSemaphoreValues = &work.number;
    auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    info.pNext = &timeline;
    info.commandBufferCount = 1, info.pCommandBuffers = &work.commands;
    info.signalSemaphoreCount = 1, info.pSignalSemaphores = &progress_->semaphore();
    running_.emplace_back();  // before the submission, so that nothing can fail after it
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

// Releases the references to buffers and kernels. The caller may have released its own while the device used them.
void Stream::drop(Work work) noexcept {
  work.kept.clear();
  work.size = 0;
  try {
    free_.push_back(std::move(work));
  } catch (const std::bad_alloc &) {}  // the pool frees the commands when the stream ends
}

void Stream::take_back() {
  if (running_.empty()) return;
  const uint64_t done = progress_->now();
  // Works of a stream end in order, so the first one that runs ends the search.
  while (!running_.empty() && running_.front().number <= done) {
    drop(std::move(running_.front()));
    running_.pop_front();
  }
}

void Stream::wait(uint64_t number) {
  {
    const std::scoped_lock lock(context_.queue_guard());
    // Work that was not submitted to the queue would never end.
    if (number > last_) flush();
  }
  progress_->wait(number);
}

void Stream::note_time(VkQueryPool pool, uint32_t query) {
  context_.api().vkCmdWriteTimestamp(open_->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, query);
}

void Stream::sync() {
  uint64_t number;
  {
    const std::scoped_lock lock(context_.queue_guard());
    flush();
    number = last_;
  }
  wait(number);
  // Frees memory that the caller has released, so that it is available after a sync.
  const std::scoped_lock lock(context_.queue_guard());
  take_back();
}

DeviceBuffer &Stream::staging(size_t bytes) {
  const size_t wanted = std::clamp(std::bit_ceil(std::min(bytes, kMostStaging)), kLeastStaging, kMostStaging);
  if (!staging_ || staging_->bytes() < wanted) {
    // Copies through the old buffer have ended, because they are awaited under staging_guard_. It is freed first, so
    // that there are never two.
    staging_.reset();
    staging_ = DeviceBuffer::make(context_, wanted, DeviceBuffer::Use::kStaging);
    if (!staging_)
      fail(OPD_OUT_OF_MEMORY, "vulkan:", context_.number(), " has no ", wanted,
           " bytes for copies from and to the host");
  }
  return *staging_;
}

// Calls part(stage, done, size, mark) for each part that fits into the staging buffer. `part` returns the number of its
// work.
template <class Part>
uint64_t Stream::copy_staged(size_t bytes, Queries queries, const Part &part) {
  // Held during the waits, too: otherwise the next copy would overwrite data that the device still reads. Its rank is
  // below that of the queue's lock, which submit() takes.
  const std::scoped_lock lock(staging_guard_);
  const DeviceBuffer &stage = staging(bytes);
  uint64_t number = 0;
  for (size_t done = 0; done < bytes;) {
    const size_t size = std::min(bytes - done, kMostStaging);
    const Mark mark{queries ? *queries : DeviceContext::TimeQueries{}, done == 0, done + size == bytes};
    number = part(stage, done, size, queries ? &mark : nullptr);
    done += size;
  }
  return number;
}

uint64_t Stream::write(const void *from, const Place &to, size_t bytes, Queries queries) {
  return copy_staged(bytes, queries, [&](const DeviceBuffer &stage, size_t done, size_t size, const Mark *mark) {
    // The staging buffer is coherent memory, and a submission makes the host's writes visible to the device. So no
    // flush and no barrier are needed.
    std::memcpy(stage.host(), static_cast<const char *>(from) + done, size);
    const auto record = [&](Work &work) {
      const VkBufferCopy region{0, to.offset + done, size};
      context_.api().vkCmdCopyBuffer(work.commands, stage.handle(), to.buffer->handle(), 1, &region);
      work.kept.push_back(to.buffer);
    };
    const uint64_t number = submit(record, mark);
    wait(number);
    return number;
  });
}

uint64_t Stream::read(const Place &from, void *to, size_t bytes, Queries queries) {
  return copy_staged(bytes, queries, [&](const DeviceBuffer &stage, size_t done, size_t size, const Mark *mark) {
    const auto record = [&](Work &work) {
      const VkBufferCopy region{from.offset + done, 0, size};
      context_.api().vkCmdCopyBuffer(work.commands, from.buffer->handle(), stage.handle(), 1, &region);
      // This direction needs a barrier to HOST_READ, which makes the device's writes visible to the host.
      add_barrier(context_.api(), work.commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
      work.kept.push_back(from.buffer);
    };
    const uint64_t number = submit(record, mark);
    wait(number);
    std::memcpy(static_cast<char *>(to) + done, stage.host(), size);
    return number;
  });
}

uint64_t Stream::copy(const Place &from, const Place &to, size_t bytes, Queries queries) {
  const auto record = [&](Work &work) {
    const VkBufferCopy region{from.offset, to.offset, bytes};
    context_.api().vkCmdCopyBuffer(work.commands, from.buffer->handle(), to.buffer->handle(), 1, &region);
    work.kept.push_back(from.buffer);
    work.kept.push_back(to.buffer);
  };
  // The copy is not awaited. Both buffers are kept until it has ended, so the caller may release them at once.
  const Mark mark{queries ? *queries : DeviceContext::TimeQueries{}};
  return submit(record, queries ? &mark : nullptr);
}

}  // namespace opd::vk
