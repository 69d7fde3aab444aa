// The worker threads: the set of idle ones, the transfer of a task to a worker, the observers, bounded active waiting,
// and the handling of fork().
//
// A launching thread that takes a worker from the idle set owns it until it returns the worker. The worker itself never
// touches the set. So owner and worker share only the worker's state word, and need no lock.
#pragma once
#include <atomic>
#include <span>

#include "base/cancellation.h"
#include "base/clock.h"
#include "device/cpu/thread_pool.h"

namespace opd {

// ---- observers of workers (for per-thread counters), and of the tasks that workers run for a thread
//
// A perf or PAPI counter can only be opened by the counted thread. So each worker reports itself before its next task,
// whether it already runs or starts later. The pool serves all callers, so a counter must count only the tasks of the
// measured call: TaskObserver reports these.
// Cost: before each task a worker reads one number that rarely changes, and one pointer.

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

// ---- workers

// One parallel region. It is small, because each worker gets a copy that must fit into one cache line.
struct Launch {
  ParallelTask task = nullptr;
  void *data = nullptr;
  ParallelGroup group{};
  uint32_t generation = 0;           // generation of the set at the launch; if it differs now, this is a forked child
  int32_t processor = -1;            // the worker's processor, set in its own copy; here because the cache line is full
  TaskObserver *observer = nullptr;  // null: no counter observes the tasks
};

// Makes the tasks of `group` skip themselves if the flag is set before they start; see thread_pool.h. The group must
// have its counters.
void make_stoppable(ParallelGroup &group, const CancelFlag *stop);
Ref<Error> run_task(Launch &launch, int32_t task_id) noexcept;  // the error that the task raised, or null

class alignas(64) Worker {
 public:
  explicit Worker(int32_t place) : place_(static_cast<int16_t>(place)) {}

  // The owner calls these.
  void give_task(const Launch &launch, int32_t task_id);
  // Runs the task on the calling thread if the worker has not begun it. Only for tasks that need not run at once.
  void run_unless_begun(Launch &launch);
  bool await_end(const Launch &launch);  // false in a forked child, where the thread does not exist
  Ref<Error> take_error() { return std::move(error_); }

  void run();  // body of the thread
  int32_t place() const { return place_; }
  int32_t processor() const { return launch_.processor; }  // processor of the last task; -1: none yet. Owner only

 private:
  // kGiven: has a task that it has not begun, so the owner may take it back. kAwaited: has a task, and the owner sleeps
  // until it ends.
  enum State : int { kIdle, kAsleep, kGiven, kWork, kAwaited };

  void await_work(bool spins);
  bool begin_work();  // false: the owner took the task back

  // The other fields need no atomics: one side writes them before it changes the state, and the other reads them after
  // it has seen the change.
  std::atomic<int> state_{kIdle};
  int16_t task_id_ = 0;
  const int16_t place_;
  Launch launch_;
  Ref<Error> error_;
};
static_assert(sizeof(Worker) == 64);

class WorkerSet {
 public:
  static constexpr int32_t kMaxTasks = 1024;  // maximum per launch
  static WorkerSet &get();                    // never destroyed: workers still sleep in it while the process exits

  // Takes up to `out.size()` idle workers among the first `share`. Starts workers that do not exist yet.
  size_t take_shared(int32_t share, std::span<Worker *> out);
  // Takes exactly `out.size()` workers, also beyond the pool's size. Throws if the system cannot start more threads.
  void take_gang(std::span<Worker *> out);
  void give_back(std::span<Worker *const> workers, const Launch &launch) noexcept;

  void begin_thread(const Worker &worker) noexcept;  // called by the worker's thread
  // The system's id of a thread of the pool; 0: it does not exist, or has not begun to run.
  int32_t thread_id(int32_t place) const { return thread_ids_[place].load(std::memory_order_relaxed); }

  uint32_t generation() const { return generation_.load(std::memory_order_relaxed); }
  // Whether, by the last known state, the caller and each worker of the team have a processor of their own. If not, a
  // thread that spins may keep the processor from the thread that it waits for.
  bool has_processor_each(std::span<Worker *const> team);

 private:
  static constexpr int32_t kMaxWorkers = 4 * kMaxTasks;  // the first quarter is the pool, the others serve only gangs
  static constexpr int32_t kWords = kMaxWorkers / 64;

  WorkerSet() = default;
  int32_t processors();
  size_t take_idle(int32_t end, std::span<Worker *> out) noexcept;
  void grow_pool(int32_t count);
  Worker *start(int32_t place);  // null if the system cannot start a thread
  void forget() noexcept;        // called in a forked child

  std::atomic<int32_t> processors_{0};  // 0: not known yet
  std::atomic<uint64_t> idle_[kWords] = {};
  Worker *workers_[kMaxWorkers] = {};
  std::atomic<int32_t> thread_ids_[kMaxTasks] = {};  // of the pool's workers; 0: does not run yet
  std::atomic<int32_t> pool_size_{0};
  int32_t extra_ = 0;  // workers for gangs
  std::atomic<uint32_t> generation_{0};
};

// ---- bounded active waiting, for threads that wait for a thread on another processor

inline void relax_processor() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constexpr uint64_t kSpinNs = 50'000;  // a little longer than the usual time between two kernels of a program

// Returns true if `done` becomes true within about kSpinNs. Without `spins`, calls `done` once. The first rounds do not
// read the clock: most waits end there, and a clock read costs as much as several rounds.
template <class Done>
bool spin_until(bool spins, Done done) {
  if (!spins) return done();
  const auto rounds = [&] {
    for (int i = 0; i < 64; ++i, relax_processor())
      if (done()) return true;
    return false;
  };
  if (rounds()) return true;
  for (const uint64_t end = monotonic_ns() + kSpinNs; monotonic_ns() < end;)
    if (rounds()) return true;
  return false;
}

}  // namespace opd
