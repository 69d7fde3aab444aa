// Streams of a Vulkan device. All of them give their work to the device's one queue. A counter that the device raises
// (a timeline semaphore) shows how far the work of each has come.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/vulkan/vulkan_memory.h"

namespace opd::vk {

// A counter that the device raises: how much of a stream's work has ended. Pending work holds it beyond the stream.
class Progress {
 public:
  explicit Progress(const DeviceContext &context);  // throws
  ~Progress() { context_.api().destroy(context_.api().vkDestroySemaphore, context_.device(), semaphore_); }
  Progress(const Progress &) = delete;

  const VkSemaphore &semaphore() const { return semaphore_; }
  uint64_t now() const;
  void wait(uint64_t number) const;

 private:
  const DeviceContext &context_;
  VkSemaphore semaphore_ = nullptr;
};

// Commands that are given to the queue at once. Where their times are noted: of the first one the begin, of the last
// one the end.
struct Mark {
  DeviceContext::TimeQueries queries;
  bool begins = true, ends = true;
};

class Stream {
 public:
  explicit Stream(DeviceContext &context);  // throws
  ~Stream();                                // its work must have ended
  Stream(const Stream &) = delete;

  // Commands that are given to the queue together. The objects that they use are kept until they have ended.
  struct Work {
    VkCommandBuffer commands = nullptr;
    uint64_t number = 0, size = 0;  // `size`: commands of submit()
    std::vector<std::shared_ptr<void>> kept;
  };
  // Calls record(work), which adds a command under the device's queue_guard(). It begins after the commands before it
  // have ended. It is given to the queue at once if the stream has no other work, else together with others, for each
  // submission costs microseconds. Returns the number to wait for. With a mark it is given at once, too, so that it can
  // be waited for without the stream.
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
  void sync();                 // waits for all work that it has been given
  void wait(uint64_t number);  // and for the work before it

  const std::shared_ptr<Progress> &progress() const { return progress_; }

  // These have finished on return. Each returns the number of its last work; `queries`: where its times are noted, or
  // null.
  using Queries = const DeviceContext::TimeQueries *;
  uint64_t write(const void *from, const Place &to, size_t bytes, Queries queries);
  uint64_t read(const Place &from, void *to, size_t bytes, Queries queries);
  uint64_t copy(const Place &from, const Place &to, size_t bytes, Queries queries);  // this has not

 private:
  static constexpr uint64_t kMostTogether = 64;  // commands of a work
  static constexpr uint64_t kMostAhead = 64;     // works that have not ended

  void begin();                   // a command of the open work
  void flush();                   // gives the open work to the queue
  void drop(Work work) noexcept;  // its commands can be used again
  void take_back();               // what finished work has used
  void note_begin(DeviceContext::TimeQueries queries);
  void note_time(VkQueryPool pool, uint32_t query);  // when the commands before have ended
  DeviceBuffer &staging(size_t bytes);
  template <class Part>
  uint64_t copy_staged(size_t bytes, Queries queries, const Part &part);

  DeviceContext &context_;
  VkCommandPool pool_ = nullptr;
  const std::shared_ptr<Progress> progress_;
  // Guarded by the device's queue_guard().
  uint64_t last_ = 0;  // the number of the last work that the queue was given
  std::optional<Work> open_;
  std::deque<Work> running_;
  std::vector<Work> free_;
  ForkMutex staging_guard_{LockRank::kDeviceStaging};
  std::shared_ptr<DeviceBuffer> staging_;
};

}  // namespace opd::vk
