#include "device/cpu/worker_set.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <bit>
#include <bitset>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "base/signals.h"
#include "base/thread_state.h"
#include "device/machine.h"

namespace opd {
namespace {

ForkMutex &start_guard() {
  static auto *guard = new ForkMutex(LockRank::kWorkers);
  return *guard;
}

// Runs a task inside the observers of the launching thread, outermost first. The worker inherits the observers while it
// runs the task, so regions that the task launches are observed, too.
Ref<Error> run_observed_by(TaskObserver *observer, Launch &launch, int32_t task_id) noexcept {
  if (!observer) return run_task(launch, task_id);
  void *const state = observer->begin_task();
  Ref<Error> error = run_observed_by(observer->outer, launch, task_id);
  observer->end_task(state);
  return error;
}

Ref<Error> run_observed(Launch &launch, int32_t task_id) noexcept {
  thread_state().task_observer = launch.observer;
  Ref<Error> error = run_observed_by(launch.observer, launch, task_id);
  thread_state().task_observer = nullptr;
  return error;
}

void *run_worker(void *given) {
  auto *const worker = static_cast<Worker *>(given);
  WorkerSet::get().begin_thread(*worker);
  worker->run();
  return nullptr;
}

struct ObserverList {
  struct Entry {
    uint32_t number;
    WorkerObserver *observer;
  };
  ForkMutex guard{LockRank::kWorkerObservers};
  std::vector<Entry> entries;

  static ObserverList &get() {
    static auto *observers = new ObserverList;  // never destroyed: workers sleep while the process exits
    return *observers;
  }
};

}  // namespace

// ---- observers

constinit std::atomic<uint32_t> newest_observer{0};

void add_worker_observer(WorkerObserver &observer) {
  ObserverList &observers = ObserverList::get();
  std::scoped_lock lock(observers.guard);
  const uint32_t number = newest_observer.load(std::memory_order_relaxed) + 1;
  observers.entries.push_back({number, &observer});
  newest_observer.store(number, std::memory_order_release);
}

void remove_worker_observer(WorkerObserver &observer) noexcept {
  ObserverList &observers = ObserverList::get();
  std::scoped_lock lock(observers.guard);
  std::erase_if(observers.entries, [&](const auto &entry) { return entry.observer == &observer; });
}

uint32_t join_observers(uint32_t seen) noexcept {
  ObserverList &observers = ObserverList::get();
  std::scoped_lock lock(observers.guard);
  for (const auto &entry : observers.entries)
    if (static_cast<int32_t>(entry.number - seen) > 0) entry.observer->joined();
  return newest_observer.load(std::memory_order_relaxed);
}

void begin_observing_tasks(TaskObserver &observer) noexcept {
  observer.outer = static_cast<TaskObserver *>(thread_state().task_observer);
  thread_state().task_observer = &observer;
}

void end_observing_tasks(TaskObserver &observer) noexcept {
  auto *last = static_cast<TaskObserver *>(thread_state().task_observer);
  if (last == &observer) return void(thread_state().task_observer = observer.outer);
  while (last && last->outer != &observer) last = last->outer;
  if (last) last->outer = observer.outer;
}

void gather_workers() {
  // The barrier makes each worker run its task.
  const auto meet = [](int id, ParallelGroup *group, void *) { return parallel_barrier(id, group); };
  if (parallel_launch(meet, nullptr, 0)) (void)take_raised();
}

// ---- one worker

// The exchange publishes the fields written before it. Only a worker in state kAsleep may be inside wait(). Every other
// worker reads the state again before it sleeps, so waking it needs no system call.
void Worker::give_task(const Launch &launch, int32_t task_id) {
  const int32_t last_processor = launch_.processor;  // still known if the owner takes this task back
  launch_ = launch;
  launch_.processor = last_processor;
  task_id_ = static_cast<int16_t>(task_id);
  if (state_.exchange(kGiven, std::memory_order_acq_rel) == kAsleep) state_.notify_all();
}

// On a busy machine a worker may get a processor only milliseconds after it was woken. If the task is gone when the
// worker wakes up, the worker sleeps again, or finds the next task.
void Worker::run_unless_begun(Launch &launch) {
  if (launch.generation != WorkerSet::get().generation()) return;  // a forked child; see await_end()
  int given = kGiven;
  if (state_.compare_exchange_strong(given, kIdle, std::memory_order_acq_rel)) error_ = run_task(launch, task_id_);
}

bool Worker::await_end(const Launch &launch) {
  const auto ended = [&] { return state_.load(std::memory_order_acquire) < kGiven; };
  while (!spin_until(launch.group.spins, ended)) {
    // In a child of fork() the worker's thread does not exist, so its state never changes. One test before each sleep
    // is enough: if the caller is in the child, its own task called fork() before the caller came here.
    if (launch.generation != WorkerSet::get().generation()) return false;
    // If the exchange fails, the worker has just begun or ended.
    int now = state_.load(std::memory_order_acquire);
    if (now == kAwaited || (now >= kGiven && state_.compare_exchange_strong(now, kAwaited, std::memory_order_acq_rel)))
      state_.wait(kAwaited, std::memory_order_acquire);
  }
  return true;
}

// Before a worker's first task, and after a launch that spins, the next task is expected within kSpinNs.
void Worker::await_work(bool spins) {
  const auto given = [&] { return state_.load(std::memory_order_acquire) >= kGiven; };
  while (!spin_until(spins, given)) {
    int idle = kIdle;
    if (state_.compare_exchange_strong(idle, kAsleep, std::memory_order_acq_rel) || idle == kAsleep)
      state_.wait(kAsleep, std::memory_order_acquire);
  }
}

bool Worker::begin_work() {
  int given = kGiven;
  return state_.compare_exchange_strong(given, kWork, std::memory_order_acq_rel) || given == kAwaited;
}

void Worker::run() {
  bool spins = true;
  uint32_t observers = 0;
  while (true) {
    await_work(spins);
    if (!begin_work()) continue;
    spins = launch_.group.spins;
    // Later launches use it in has_processor_each(). It is read here because only the thread itself can read it.
    launch_.processor = sched_getcpu();
    if (newest_observer.load(std::memory_order_relaxed) != observers) [[unlikely]]
      observers = join_observers(observers);
    error_ = launch_.observer ? run_observed(launch_, task_id_) : run_task(launch_, task_id_);
    if (launch_.generation != WorkerSet::get().generation())
      return;  // the task called fork(), and this is the child: no owner waits here
    // After the exchange, the owner may give the worker to another launch. The notification is still safe, because
    // workers are never freed. It may wake a thread that then sleeps again.
    if (state_.exchange(kIdle, std::memory_order_acq_rel) == kAwaited) state_.notify_all();
  }
}

// ---- all workers

WorkerSet &WorkerSet::get() {
  static auto *set = [] {
    start_guard();
    auto *made = new WorkerSet;
    pthread_atfork(nullptr, nullptr, [] { get().forget(); });
    return made;
  }();
  return *set;
}

int32_t WorkerSet::processors() {
  if (const int32_t known = processors_.load(std::memory_order_relaxed)) [[likely]]
    return known;
  const int32_t count = usable_processors();  // reads files; several threads may do so at once
  processors_.store(count, std::memory_order_relaxed);
  return count;
}

// Only the processors of the workers' last tasks are known. So after a worker has moved, a launch may choose wrongly.
// The test is for virtual machines whose processors share no cache. A call with three small parallel regions took 343
// us there while its threads spun on a shared processor. Now that they sleep at once, it takes 3 to 15 us.
bool WorkerSet::has_processor_each(std::span<Worker *const> team) {
  if (team.size() >= static_cast<size_t>(processors())) return false;
  // With more than 1024 processors, two may share a bit. Then threads sleep although they could spin.
  std::bitset<1024> taken;
  taken.set(static_cast<size_t>(sched_getcpu()) % taken.size());
  for (const Worker *worker : team) {
    if (worker->processor() < 0) continue;
    const size_t place = static_cast<size_t>(worker->processor()) % taken.size();
    if (taken[place]) return false;
    taken.set(place);
  }
  return true;
}

void WorkerSet::forget() noexcept {
  // The parent's workers do not exist here. Their memory is kept: a launch that forked may still use it. workers_ keeps
  // their addresses until start() replaces them, but no bit of idle_ refers to them any more.
  for (auto &word : idle_) word.store(0, std::memory_order_relaxed);
  pool_size_.store(0, std::memory_order_relaxed);
  for (auto &id : thread_ids_) id.store(0, std::memory_order_relaxed);
  extra_ = 0;
  generation_.fetch_add(1, std::memory_order_relaxed);
}

Worker *WorkerSet::start(int32_t place) {
  auto worker = std::make_unique<Worker>(place);
  char name[16];  // the kernel's limit
  std::snprintf(name, sizeof name, "opd-worker %d", place);
  pthread_t thread;
  if (!start_library_thread(name, &run_worker, worker.get(), thread)) return nullptr;
  pthread_detach(thread);
  return workers_[place] = worker.release();
}

void WorkerSet::begin_thread(const Worker &worker) noexcept {
  if (worker.place() < kMaxTasks) thread_ids_[worker.place()].store(static_cast<int32_t>(gettid()));
}

void WorkerSet::grow_pool(int32_t count) {
  std::scoped_lock lock(start_guard());
  // The bit of a worker is set last. A thread that takes the worker with acquire order sees the pointer in workers_.
  for (int32_t size; (size = pool_size_.load(std::memory_order_relaxed)) < count;) {
    if (!start(size)) return;  // a shared launch works with fewer workers
    pool_size_.store(size + 1, std::memory_order_release);
    idle_[size / 64].fetch_or(uint64_t{1} << (size % 64), std::memory_order_release);
  }
}

// The exchange acquires what give_back() released, so the new owner sees the fields that the last owner wrote.
size_t WorkerSet::take_idle(int32_t end, std::span<Worker *> out) noexcept {
  size_t taken = 0;
  for (int32_t word = 0; word * 64 < end && taken < out.size(); ++word) {
    // A shift by 64 is undefined, so a whole word is handled separately.
    const uint64_t share = end - word * 64 >= 64 ? ~uint64_t{0} : (uint64_t{1} << (end - word * 64)) - 1;
    uint64_t idle = idle_[word].load(std::memory_order_relaxed), chosen;
    do {
      chosen = 0;
      uint64_t rest = idle & share;
      for (size_t n = out.size() - taken; n > 0 && rest; --n) {
        chosen |= rest & (0 - rest);  // the lowest bits: these workers ran last and may still be spinning
        rest &= rest - 1;
      }
    } while (chosen && !idle_[word].compare_exchange_weak(idle, idle & ~chosen, std::memory_order_acquire,
                                                          std::memory_order_relaxed));
    for (; chosen; chosen &= chosen - 1) out[taken++] = workers_[word * 64 + std::countr_zero(chosen)];
  }
  return taken;
}

size_t WorkerSet::take_shared(int32_t share, std::span<Worker *> out) {
  if (pool_size_.load(std::memory_order_acquire) < share) grow_pool(share);
  return take_idle(share, out);
}

void WorkerSet::take_gang(std::span<Worker *> out) {
  // With one thread too few, a gang would wait at its first barrier forever. So a gang gets all its workers or none.
  size_t taken = take_idle(kMaxWorkers, out);
  if (taken == out.size()) return;
  std::scoped_lock lock(start_guard());
  for (; taken < out.size(); ++taken) {
    Worker *worker = kMaxTasks + extra_ < kMaxWorkers ? start(kMaxTasks + extra_) : nullptr;
    if (!worker) break;
    ++extra_;
    out[taken] = worker;
  }
  if (taken == out.size()) return;
  // Newly started workers are included: they are idle workers of later gangs.
  for (Worker *worker : out.first(taken))
    idle_[worker->place() / 64].fetch_or(uint64_t{1} << (worker->place() % 64), std::memory_order_release);
  fail(OPD_OUT_OF_MEMORY, "cannot run ", out.size() + 1, " tasks at once: the system or the limit of ", kMaxWorkers,
       " workers allows only ", taken + 1, " threads now");
}

void WorkerSet::give_back(std::span<Worker *const> workers, const Launch &launch) noexcept {
  // In a child, the bits are those of its own pool. The parent's workers must not appear there.
  if (launch.generation != generation()) return;
  for (const Worker *worker : workers)
    idle_[worker->place() / 64].fetch_or(uint64_t{1} << (worker->place() % 64), std::memory_order_release);
}

}  // namespace opd
