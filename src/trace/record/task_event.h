// Events for the tasks of parallel loops, on the threads that run them. Cost: a load for each loop if no recording asks
// for them, else some 100 ns a task.
#pragma once
#include <atomic>

#include "trace/model/event.h"

namespace opd {

namespace detail {
extern std::atomic<uint32_t> task_recordings;  // a bit for each recording that records tasks
}
inline bool is_recording_tasks() { return detail::task_recordings.load(std::memory_order_relaxed) != 0; }

// The facts that the tasks of one loop share.
struct ParallelLoop {
  uint64_t number;  // number in the process, from 1 on; 0: memory was short, so its tasks are not recorded
  uint64_t run;     // as in Event; 0: launched outside of recorded runs
  uint32_t thread;  // system id of the thread that launched it
  uint32_t num_tasks;
};
ParallelLoop begin_loop(uint32_t num_tasks) noexcept;  // called by the launching thread
uint64_t task_begin() noexcept;                        // ticks
// Adds an event of kTask to the calling thread's track, from the tick `begin` to now.
void add_task_event(const ParallelLoop &loop, uint32_t task, uint64_t begin) noexcept;

}  // namespace opd
