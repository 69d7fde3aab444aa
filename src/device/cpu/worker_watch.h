// Tells who counts threads which threads there are to count: each worker of the pool comes by itself, before its next
// task, whether it runs already or starts later; and for whom it works, since the pool serves all callers.
// Cost: a worker reads one number that seldom changes, and a pointer, before each task.
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

// Sees the tasks that workers run for one thread: those that the thread launches while it is the thread's watch, and
// those that these tasks launch. On the worker; no two at a time there.
class TaskWatch {
 public:
  virtual ~TaskWatch() = default;
  virtual void *begin_task() noexcept = 0;
  virtual void end_task(void *state) noexcept = 0;  // what begin_task() gave

  TaskWatch *outer = nullptr;  // the watch of this thread before; it sees the tasks, too
};
// On the thread to be watched. A watch is the thread's at most once at a time.
void begin_watching_tasks(TaskWatch &watch) noexcept;
void end_watching_tasks(TaskWatch &watch) noexcept;

extern std::atomic<uint32_t> newest_watch;      // number of the watch added last
uint32_t join_watches(uint32_t seen) noexcept;  // on a worker: tells the watches above `seen`; gives the newest number

}  // namespace opd
