// Tells who counts threads which threads there are to count: each worker of the pool comes by itself, before its next
// task, whether it runs already or starts later.
// Cost: a worker reads one number that seldom changes before each task.
#pragma once
#include <atomic>
#include <cstdint>

namespace opd {

class WorkerWatch {
 public:
  virtual ~WorkerWatch() = default;
  virtual void joined() noexcept = 0;  // on the worker, once; no two at a time
};

void add_worker_watch(WorkerWatch &watch);
void remove_worker_watch(WorkerWatch &watch) noexcept;  // no joined() of it runs any more afterwards
// Has every idle worker that the calling thread may use come now; it starts those that do not run yet.
void gather_workers();

extern std::atomic<uint32_t> newest_watch;      // number of the watch added last
uint32_t join_watches(uint32_t seen) noexcept;  // on a worker: tells the watches above `seen`; gives the newest number

}  // namespace opd
