// The worker threads: who is idle, how one is given a task, and what becomes of them after fork().
//
// Whoever takes a worker from the idle set owns it until giving it back; the worker itself never touches the set.
#pragma once
#include <atomic>
#include <span>

#include "base/stop.h"
#include "device/cpu/thread_pool.h"

namespace opd {

class TaskWatch;

// One parallel region. Small, since each worker gets a copy: everything that it needs then comes in one cache line.
struct Launch {
  ParallelTask task;
  void *data;
  ParallelGroup group;
  uint32_t spin_ns;     // how long to wait actively; 0 if there are more tasks than processors
  uint32_t generation;  // of the worker set; another one means that this is a forked child
  TaskWatch *watch;     // null: nobody counts what the tasks do
};

// Ends the task before it begins if the flag is set by then; see thread_pool.h. The group has its counters.
void make_stoppable(ParallelGroup &group, const StopFlag *stop);
Ref<Error> run_task(Launch &launch, int32_t task_id) noexcept;  // the error that the task raised, or null

class alignas(64) Worker {
 public:
  explicit Worker(int32_t place) : place_(static_cast<int16_t>(place)) {}

  // The owner's side.
  void give_task(const Launch &launch, int32_t task_id);
  bool await_end(const Launch &launch);  // false in a forked child, where the worker is gone
  Ref<Error> take_error() { return std::move(error_); }

  void run();  // the thread's body
  int32_t place() const { return place_; }

 private:
  enum State : int { kIdle, kAsleep, kWork, kAwaited };  // kAwaited: at work, and its owner sleeps until it ends

  void await_work(uint32_t spin_ns);

  // All else is written by one side before it changes the state and read by the other afterwards.
  std::atomic<int> state_{kIdle};
  int16_t task_id_ = 0;
  const int16_t place_;
  Launch launch_{};
  Ref<Error> error_;
};
static_assert(sizeof(Worker) == 64);

class WorkerSet {
 public:
  static constexpr int32_t kMaxTasks = 1024;  // of one launch
  static WorkerSet &get();                    // never destroyed: workers sleep in it while the process exits

  // Takes up to `out.size()` idle workers among the first `share`; starts those that do not exist yet.
  size_t take_shared(int32_t share, std::span<Worker *> out);
  // Takes exactly `out.size()` workers, also beyond the pool's size; throws if there are no more threads.
  void take_gang(std::span<Worker *> out);
  void give_back(std::span<Worker *const> workers, const Launch &launch) noexcept;

  uint32_t generation() const { return generation_.load(std::memory_order_relaxed); }
  int32_t processors();

 private:
  static constexpr int32_t kMaxWorkers = 4 * kMaxTasks;  // the first quarter is the pool, the rest serves gangs only
  static constexpr int32_t kWords = kMaxWorkers / 64;

  WorkerSet() = default;
  size_t take_idle(int32_t end, std::span<Worker *> out) noexcept;
  void grow_pool(int32_t count);
  Worker *start(int32_t place);  // null if the system gives no thread
  void forget() noexcept;        // in a forked child

  std::atomic<int32_t> processors_{0};  // 0: not known yet
  std::atomic<uint64_t> idle_[kWords] = {};
  Worker *workers_[kMaxWorkers] = {};
  std::atomic<int32_t> pool_size_{0};
  int32_t extra_ = 0;  // workers for gangs
  std::atomic<uint32_t> generation_{0};
};

}  // namespace opd
