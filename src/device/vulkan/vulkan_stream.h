// Streams of a Vulkan device. All of them give their work to the device's one queue; each knows how far its own has
// come by a counter that the device raises (a timeline semaphore).
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/vulkan/vulkan_memory.h"

namespace opd::vk {

class Stream {
 public:
  explicit Stream(DeviceContext &context);  // throws
  ~Stream();                                // its work must have ended
  Stream(const Stream &) = delete;

  // Commands that are given to the queue together. What they use is kept until they have ended.
  struct Work {
    CommandBuffer *commands = nullptr;
    uint64_t number = 0, size = 0;  // `size`: commands of submit()
    std::vector<std::shared_ptr<void>> kept;
  };
  // Calls record(work), which adds a command under the device's queue_guard(). It begins after the commands before it
  // have ended. While the stream has nothing else to do it is given to the queue at once, else together with others:
  // a gift costs some 30 us. Returns the number to wait for.
  template <class F>
  uint64_t submit(F &&record) {
    std::unique_lock lock(context_.queue_guard());
    take_back();
    begin();
    std::forward<F>(record)(*open_);
    const uint64_t number = last_ + 1;
    if (++open_->size >= kMostTogether || running_.empty()) flush();
    lock.unlock();
    if (number > kMostAhead) wait(number - kMostAhead);
    return number;
  }
  void sync();                 // waits for all work that it has been given
  void wait(uint64_t number);  // and for the work before it

  // These have finished on return.
  void write(const void *from, const Place &to, size_t bytes);
  void read(const Place &from, void *to, size_t bytes);
  void copy(const Place &from, const Place &to, size_t bytes);  // this has not

 private:
  static constexpr uint64_t kMostTogether = 64;  // commands of a work
  static constexpr uint64_t kMostAhead = 64;     // works that have not ended

  void begin();                   // a command of the open work
  void flush();                   // gives the open work to the queue
  void drop(Work work) noexcept;  // its commands can be used again
  void take_back();               // what finished work has used
  DeviceBuffer &staging(size_t bytes);

  DeviceContext &context_;
  CommandPool *pool_ = nullptr;
  Semaphore *progress_ = nullptr;  // the number of the last work that has ended
  // Guarded by the device's queue_guard().
  uint64_t last_ = 0;  // the number of the last work that the queue was given
  std::optional<Work> open_;
  std::deque<Work> running_;
  std::vector<Work> free_;
  ForkMutex staging_guard_{LockRank::kDeviceStaging};
  std::shared_ptr<DeviceBuffer> staging_;
};

}  // namespace opd::vk
