// Notifies observers of pool worker threads (for per-thread counters) and of the tasks that workers run for a thread.
//
// A perf or PAPI counter can only be opened by the counted thread. So each worker reports itself before its next task,
// whether it already runs or starts later. The pool serves all callers, so a counter must count only the tasks of the
// measured call: TaskObserver reports these.
// Cost: before each task a worker reads one number that rarely changes, and one pointer.
#pragma once
#include <atomic>
#include <cstdint>

namespace opd {

class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  virtual void joined() noexcept = 0;  // called once on each worker, never on two at the same time
};

void add_worker_observer(WorkerObserver &observer);
void remove_worker_observer(WorkerObserver &observer) noexcept;  // when it returns, no joined() is running
// Makes every idle worker that the calling thread may use report itself now. Starts workers that do not run yet.
void gather_workers();

// Observes the tasks that workers run for one thread: those that the thread launches while the observer is set, and
// those that these tasks launch. Called on the worker that runs the task.
class TaskObserver {
 public:
  virtual ~TaskObserver() = default;
  virtual void *begin_task() noexcept = 0;
  virtual void end_task(void *state) noexcept = 0;  // `state` is the result of begin_task()

  TaskObserver *outer = nullptr;  // the thread's previous observer; it is called for the same tasks
};
// Call these on the observed thread. An observer can be set only once at a time.
void begin_observing_tasks(TaskObserver &observer) noexcept;
void end_observing_tasks(TaskObserver &observer) noexcept;

// Observers are numbered in the order of their addition. A worker remembers the newest number that it saw, and takes
// the lock only if the number has changed.
extern std::atomic<uint32_t> newest_observer;
uint32_t join_observers(uint32_t seen) noexcept;  // calls joined() of the observers after `seen`; returns the newest

}  // namespace opd
