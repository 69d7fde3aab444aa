// Buffers of Vulkan devices, each with its own memory, and the addresses that represent them. Also the streams, which
// copy between buffers. All streams submit to the device's only queue. Each has a timeline semaphore, a counter
// that the device raises when work ends.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/address_ranges.h"
#include "device/kernel.h"
#include "device/vulkan/vulkan_context.h"

namespace opd::vk {

class DeviceBuffer {
 public:
  enum class Use : uint8_t { kTensor, kStaging, kScalars };
  // Returns null if there is no memory. Throws for other failures.
  static std::shared_ptr<DeviceBuffer> make(const DeviceContext &context, uint64_t bytes, Use use);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer &) = delete;

  VkBuffer handle() const { return handle_; }
  char *host() const { return static_cast<char *>(host_); }  // address for the host; null for tensors
  uint64_t bytes() const { return bytes_; }

 private:
  DeviceBuffer(const DeviceContext &context, uint64_t bytes) : context_(context), bytes_(bytes) {}
  VkResult allocate(Use use);

  const DeviceContext &context_;
  const uint64_t bytes_;
  VkBuffer handle_ = nullptr;
  VkDeviceMemory memory_ = nullptr;
  void *host_ = nullptr;
};

using Buffers = AddressRanges<DeviceBuffer>;
using Place = Buffers::Place;
Buffers &buffers();  // never destroyed

// A counter that the device raises: the number of the stream's last finished work. Pending work may keep it after the
// stream has ended.
class Progress {
 public:
  explicit Progress(const DeviceContext &context);  // throws
  ~Progress() { context_.api().destroy(context_.api().vkDestroySemaphore, context_.device(), semaphore_); }
  Progress(const Progress &) = delete;

  const VkSemaphore &semaphore() const { return semaphore_; }
  uint64_t now() const {
    uint64_t number = 0;
    check(context_.api().vkGetSemaphoreCounterValue(context_.device(), semaphore_, &number),
          "vkGetSemaphoreCounterValue");
    return number;
  }
  // Called without the queue's lock, so that other threads can submit work during the wait. The wait has no limit,
  // because a kernel may take any time. If the device is lost, the call returns an error.
  void wait(uint64_t number) const {
    auto info = structure<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
    info.semaphoreCount = 1, info.pSemaphores = &semaphore_, info.pValues = &number;
    check(context_.api().vkWaitSemaphores(context_.device(), &info, ~uint64_t{0}), "vkWaitSemaphores");
  }

 private:
  const DeviceContext &context_;
  VkSemaphore semaphore_ = nullptr;
};

// Queries for the times of commands that are submitted at once. The begin is the time of the first command, and the end
// is the time of the last command.
struct Mark {
  DeviceContext::TimeQueries queries;
  bool begins = true, ends = true;
};

class Stream {
 public:
  explicit Stream(DeviceContext &context);  // throws
  ~Stream();                                // all its work must have ended
  Stream(const Stream &) = delete;

  // Commands that are submitted together. The objects that they use are kept until the commands have ended.
  struct Work {
    VkCommandBuffer commands = nullptr;
    uint64_t number = 0, size = 0;  // `size`: number of submit() calls
    std::vector<std::shared_ptr<void>> kept;
  };
  // Calls record(work), which adds a command under the device's queue_guard(). The command begins after the earlier
  // commands have ended. If the stream has no other work, it is submitted at once. Otherwise it is submitted together
  // with others, because each submission takes microseconds. With a mark it is always submitted at once, so that it can
  // be awaited without the stream. Returns the number to wait for.
  template <class F>
  uint64_t submit(F &&record, const Mark *mark = nullptr) {
    std::unique_lock lock(context_.queue_guard());
    take_back();
    begin();
    if (mark && mark->begins) note_begin(mark->queries);
    std::forward<F>(record)(*open_);
    if (mark && mark->ends) note_time(mark->queries.pool, mark->queries.first + 1);
    const uint64_t number = last_ + 1;
    if (++open_->size >= kMostTogether || running_.empty() || mark) flush();
    lock.unlock();
    if (number > kMostAhead) wait(number - kMostAhead);
    return number;
  }
  void sync();                 // waits for all work of the stream
  void wait(uint64_t number);  // waits for this work and all earlier work

  const std::shared_ptr<Progress> &progress() const { return progress_; }

  // The copy is complete when these functions return, except copy(). Each returns the number of its last work.
  // `queries`: receives the times; may be null.
  using Queries = const DeviceContext::TimeQueries *;
  uint64_t write(const void *from, const Place &to, size_t bytes, Queries queries);
  uint64_t read(const Place &from, void *to, size_t bytes, Queries queries);
  uint64_t copy(const Place &from, const Place &to, size_t bytes, Queries queries);  // does not wait for the copy

 private:
  static constexpr uint64_t kMostTogether = 64;  // commands per work
  static constexpr uint64_t kMostAhead = 64;     // unfinished works

  void begin();                   // prepares the open work for a command
  void flush();                   // submits the open work
  void drop(Work work) noexcept;  // makes its command buffer reusable
  void take_back();               // frees the resources of finished work
  // Queries must be reset before they are written again. The reset is in the same command buffer, so the queue keeps
  // the order.
  void note_begin(DeviceContext::TimeQueries queries) {
    context_.api().vkCmdResetQueryPool(open_->commands, queries.pool, queries.first, 2);
    note_time(queries.pool, queries.first);
  }
  void note_time(VkQueryPool pool, uint32_t query);  // writes the time when earlier commands end
  DeviceBuffer &staging(size_t bytes);
  template <class Part>
  uint64_t copy_staged(size_t bytes, Queries queries, const Part &part);

  DeviceContext &context_;
  VkCommandPool pool_ = nullptr;
  const std::shared_ptr<Progress> progress_;
  // Guarded by the device's queue_guard().
  uint64_t last_ = 0;  // number of the last submitted work
  std::optional<Work> open_;
  std::deque<Work> running_;
  std::vector<Work> free_;
  ForkMutex staging_guard_{LockRank::kDeviceStaging};
  std::shared_ptr<DeviceBuffer> staging_;
};

// Makes a program of kernels in SPIR-V, as TVM stores them: a map from names to code. Throws OPD_BAD_FORMAT. `main`:
// the default stream.
std::unique_ptr<DeviceProgram> build_program(DeviceContext &context, Stream &main, const DeviceCode &code);

}  // namespace opd::vk
