// One pool of worker threads for all callers of the process.
//
// - A launch without a task count uses the workers that are idle, and at least the calling thread. The kernel gets
//   the number of its tasks.
// - A launch with an explicit count is a gang: all its tasks run at the same time, so that they can use a barrier. If
//   the pool is too small, more threads are started and kept.
// - If a worker has not begun its task when the caller's own task ends, the caller runs that task, too: on a busy machine
//   the system may run the worker much later. Tasks of a gang stay where they are.
// - A launch from inside a task runs serially. If it has an explicit count, it gets a gang of its own.
// - If a task fails, the other tasks do not wait for it at a barrier: the barrier fails for them.
// - Threads that wait spin briefly, then sleep. After fork() the child starts with a new pool.
// - If threads of a launch share a processor, they sleep at once: a spinning thread would keep the processor from the
//   thread that it waits for. On some virtual machines, processors share no cache, and the kernel wakes a thread on the
//   processor of its waker. Spinning there made a launch 10 times slower.
//
// Cancellation (thread_state().stop): a cancelled call starts no new region; the launch fails. In a region that is
// already running, tasks that have not started are skipped once the running tasks have ended. Exception: if a running
// task reaches a barrier, all tasks run, because a barrier needs every task. This avoids deadlock and reads of data
// that was never computed. Gangs, and regions launched by a task, always run completely.
//
// Cost: 6 ns for one task, 0.1 us for two empty tasks, both of which the caller then runs. Tasks that a worker runs cost
// 0.3 us if its core is spinning, a few us more to wake a sleeping thread.
#pragma once
#include <cstdint>

namespace opd {

// The layout of TVMParallelGroupEnv.
struct ParallelGroup {
  void *sync = nullptr;  // barrier counters: one int32 per task, 64 bytes apart
  int32_t num_task = 0;
  // Fields of opdyno, in the padding of TVM's layout:
  bool is_stoppable = false;
  bool spins = false;        // waiting threads spin for a while before they sleep
  bool is_recorded = false;  // the tasks become events
};
static_assert(sizeof(ParallelGroup) == 16);
using ParallelTask = int (*)(int task_id, ParallelGroup *group, void *data);  // returns 0, or -1 with a raised error

// Runs `task` for ids 0 … group->num_task - 1 and waits for all. `num_task` 0 means as many tasks as there are idle
// workers. Returns 0, or -1 with one raised error that joins the errors of all tasks ("Task 3: …").
int parallel_launch(ParallelTask task, void *data, int32_t num_task) noexcept;
int parallel_barrier(int task_id, ParallelGroup *group) noexcept;

// The number that OPDYNO_NUM_THREADS, TVM_NUM_THREADS or OMP_NUM_THREADS gives; 0: none. Warns about other values.
int32_t thread_count_of_environment();
int32_t thread_count();                // maximum for the next launch, calling thread included
void set_thread_count(int32_t count);  // 0 restores the default; throws outside 0 … 1024

}  // namespace opd
