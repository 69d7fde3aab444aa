// How long threads could run but had no processor, as the system counts it (schedstat in /proc). So a measurement can
// separate the program's time from the time that other programs took.
#pragma once
#include <bitset>
#include <cstdint>
#include <vector>

namespace opd {

// For the calling thread and the first 31 workers of the pool. Only the calling thread may use it. While the calling thread sleeps, waits of workers count even if another thread has launched their tasks.
class ProcessorWait {
 public:
  ProcessorWait();
  ~ProcessorWait();
  ProcessorWait(const ProcessorWait &) = delete;
  ProcessorWait &operator=(const ProcessorWait &) = delete;

  bool is_known() const { return !threads_.empty(); }  // false: the system does not count this time
  struct Times {
    uint64_t waited_ns;
    uint64_t ran_ns;  // time in which the calling thread ran, except for workers that had no processor
  };
  // The times since the last call of read(), or since this object was made. Cost: about 1 us for each thread.
  //
  // A worker's wait counts only as far as the calling thread slept in this time. If the calling thread took the task of
  // a worker without a processor back, its time for the task counts as a wait.
  Times read();

 private:
  static constexpr int32_t kMostWorkers = 31;  // each takes a descriptor
  struct Thread {
    int file;
    uint64_t waited_ns;
  };
  void add(const char *path) noexcept;
  void add_new_workers() noexcept;

  std::vector<Thread> threads_;  // the calling thread, then the workers
  std::bitset<kMostWorkers> is_added_;
  uint64_t at_ns_ = 0, ran_ns_ = 0;
  uint64_t lost_ns_ = 0;  // as ThreadState counts it
};

}  // namespace opd
