// Streams of a Vulkan device. All of them give their work to the device's one queue; each knows how far its own has
// come by a counter that the device raises (a timeline semaphore).
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/vulkan/vulkan_memory.h"

namespace opd::vk {

class Stream {
 public:
  explicit Stream(DeviceContext &context);  // throws
  ~Stream();                                // its work must have ended
  Stream(const Stream &) = delete;

  // A piece of work. What it uses is kept until it has ended.
  struct Work {
    CommandBuffer *commands = nullptr;
    uint64_t number = 0;
    std::vector<std::shared_ptr<void>> kept;
  };
  // Calls record(work), which fills the work's commands under the device's queue_guard(), and gives them to the queue.
  // It begins after all work that was given to the device before.
  template <class F>
  uint64_t submit(F &&record) {
    std::unique_lock lock(context_.queue_guard());
    take_back();
    Work work = begin();
    try {
      std::forward<F>(record)(work);
      end(work);
    } catch (...) {
      drop(std::move(work));
      throw;
    }
    const uint64_t number = last_;
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
  static constexpr uint64_t kMostAhead = 4096;  // pieces of work that are not done

  Work begin();
  void end(Work &work);
  void drop(Work work) noexcept;  // its commands can be used again
  void take_back();               // what finished work has used
  DeviceBuffer &staging(size_t bytes);

  DeviceContext &context_;
  CommandPool *pool_ = nullptr;
  Semaphore *progress_ = nullptr;  // the number of the last work that has ended
  // Guarded by the device's queue_guard().
  uint64_t last_ = 0;  // the number of the last work
  std::deque<Work> running_;
  std::vector<Work> free_;
  ForkMutex staging_guard_{LockRank::kDeviceStaging};
  std::shared_ptr<DeviceBuffer> staging_;
};

}  // namespace opd::vk
