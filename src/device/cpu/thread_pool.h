// One pool of worker threads for all callers of the process.
//
// A launch without a task count takes the workers that are idle, at least its caller, and tells the kernel how many
// tasks there are. A launch with an explicit count runs as a gang: all its tasks at once, so that they may meet at a
// barrier; threads beyond the pool's size are started for it where needed, and kept. A launch from inside a task runs
// serially, unless it has an explicit count, which gets a gang of its own. A task that fails lets nobody wait for it at
// a barrier. Workers spin briefly, then sleep. After fork() the child starts with a new pool.
//
// A call that is to end (thread_state().stop) begins no region: the launch is its error then. In one that runs already,
// a task that has not begun waits until those that have are through, and is dropped; but as soon as one of them meets a
// barrier it runs, since tasks that meet need all of each other: nobody waits for ever, nor reads what was not
// computed. A gang runs whole, and so does what a task launches. Cost: 6 ns for one task, 0.3 us for two on cores that
// wait actively, a few us more to wake a thread that sleeps.
#pragma once
#include <cstdint>

namespace opd {

// The layout of TVMParallelGroupEnv.
struct ParallelGroup {
  void *sync;  // counters of the barrier: one int32 per task, 64 bytes apart
  int32_t num_task;
  int32_t is_stoppable = 0;  // ours: TVM's layout has nothing here
};
using ParallelTask = int (*)(int task_id, ParallelGroup *group, void *data);  // 0, or -1 with a raised error

// Runs `task` for ids 0 … group->num_task - 1 and waits. `num_task` 0: as many as are free. Returns 0, or -1 with one
// raised error that gathers those of the tasks ("Task 3: …").
int parallel_launch(ParallelTask task, void *data, int32_t num_task) noexcept;
int parallel_barrier(int task_id, ParallelGroup *group) noexcept;

int32_t thread_count();                // what the next launch may use at most, the caller included
void set_thread_count(int32_t count);  // 0: the default again; throws outside 0 … 1024

}  // namespace opd
