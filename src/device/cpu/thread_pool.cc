#include "device/cpu/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/cancellation.h"
#include "base/few_or_many.h"
#include "base/log.h"
#include "base/thread_state.h"
#include "device/cpu/worker_set.h"
#include "device/machine.h"
#include "trace/record/ranges.h"

namespace opd {
namespace {

constexpr int32_t kFailed = INT32_MAX;  // value of a barrier counter whose task failed: the task will not arrive

// Each counter has a cache line, because a task writes its own counter while the others poll it. Members without an
// initializer cost nothing in regions that do not use them. They are set before is_stoppable or is_recorded becomes
// true.
struct alignas(64) Counter {
  int32_t value = 0;
  // Used in the first counter only, if the region can be cancelled:
  uint32_t tasks;  // number of running tasks; with bit kAllNeeded once one of them reached a barrier
  bool dropped;    // at least one task was skipped
  const CancelFlag *stop;
  // Used in the first counter only, if the tasks are recorded:
  const ParallelLoop *loop;
  std::atomic_ref<int32_t> ref() { return std::atomic_ref<int32_t>(value); }
};
constexpr uint32_t kAllNeeded = uint32_t{1} << 31;
static_assert(sizeof(Counter) == 64);

Counter *counters_of(const ParallelGroup &group) { return static_cast<Counter *>(group.sync); }

void end_task(const ParallelGroup &group) {
  const std::atomic_ref<uint32_t> tasks(counters_of(group)->tasks);
  tasks.fetch_sub(1);
  tasks.notify_all();
}

// Returns false if the task is skipped. A task increments the counter *before* it reads the flag. So if a thread sees
// the flag set and no task running, it is certain that no task will start later. This argument needs a single order of
// all these operations, hence sequentially consistent atomics.
bool begin_task(const ParallelGroup &group) {
  Counter &shared = *counters_of(group);
  const std::atomic_ref<uint32_t> tasks(shared.tasks);
  while (!(tasks.fetch_add(1) & kAllNeeded) && ends_call(shared.stop->load())) {
    // The task does not count as running while it waits here. Otherwise two waiting tasks would each take the other for
    // a running one, and wait forever.
    end_task(group);
    for (uint32_t now; !((now = tasks.load()) & kAllNeeded); tasks.wait(now)) {
      if (now > 0) continue;
      std::atomic_ref<bool>(shared.dropped).store(true);
      return false;
    }
  }
  return true;
}

// Called by a running task, so no task was skipped yet: tasks are skipped only while none runs. Tasks that wait in
// begin_task() see the bit and run.
void need_all_tasks(const ParallelGroup &group) {
  const std::atomic_ref<uint32_t> tasks(counters_of(group)->tasks);
  if (!(tasks.fetch_or(kAllNeeded) & kAllNeeded)) tasks.notify_all();
}

// Joins the errors of all tasks into one. Errors of tasks that only stopped because another task failed are left out.
class Errors {
 public:
  void add(int32_t task_id, Ref<Error> error) {
    if (!error) return;
    const bool secondary = error->code == OPD_CANCELLED;
    if (first_ && secondary && !only_secondary_) return;
    if (!first_ || (only_secondary_ && !secondary)) first_ = error, text_.clear(), count_ = 0;
    only_secondary_ = secondary;
    if (++count_ > kMost) return;
    text_ += concat(text_.empty() ? "" : "; ", "Task ", task_id, ": ", error->message);
  }
  Ref<Error> gather() {
    if (!first_) return nullptr;
    if (count_ > kMost) text_ += concat("; and ", count_ - kMost, " more tasks failed");
    auto error = make_object<Error>(first_->code, first_->kind, std::move(text_));
    error->set_cause(std::move(first_));
    return error;
  }

 private:
  static constexpr int kMost = 8;
  Ref<Error> first_;
  bool only_secondary_ = false;
  int count_ = 0;
  std::string text_;
};

Ref<Error> run_team(Launch &launch, std::span<Worker *const> team, bool is_gang) {
  const auto count = static_cast<int32_t>(team.size());
  for (int32_t i = 0; i < count; ++i) team[static_cast<size_t>(i)]->give_task(launch, i + 1);
  // The workers have their tasks by now. If task 0 reaches a barrier, all others arrive without its help.
  ThreadState &state = thread_state();
  const uint64_t begin = state.wait_meters ? monotonic_ns() : 0;
  Ref<Error> own = run_task(launch, 0);
  if (!is_gang) {
    constexpr uint64_t kMostToWakeNs = 100'000;  // a worker that has not begun after this time has no processor
    const bool is_late = state.wait_meters && monotonic_ns() - begin >= kMostToWakeNs;
    const uint64_t own_end = is_late ? thread_time_ns() : 0;
    // Tasks whose workers have not begun are run here. A task that passed a barrier proves that all tasks had begun, so
    // none of those that are left meets another one at a barrier.
    for (Worker *worker : team) worker->run_unless_begun(launch);
    if (is_late) state.lost_ns += thread_time_ns() - own_end;
  }
  // Each worker is awaited, even after an error: the counters, and usually the task's data, are on this thread's stack.
  bool forked = false;
  for (Worker *worker : team) forked = !worker->await_end(launch) || forked;
  // In the child the workers' errors cannot be read: their threads may have been writing them when the process forked.
  if (forked)
    return make_error(OPD_FAILED_PRECONDITION,
                      "the process forked inside of a parallel region; its other tasks are in the parent");
  Errors errors;
  errors.add(0, std::move(own));
  for (int32_t i = 0; i < count; ++i) errors.add(i + 1, team[static_cast<size_t>(i)]->take_error());
  Ref<Error> error = errors.gather();
  if (!error && launch.group.is_stoppable && counters_of(launch.group)->dropped)
    return make_cancel_error(counters_of(launch.group)->stop->load(),
                             "before all tasks of a parallel region had begun");
  return error;
}

// A single task gets a counter, too: its kernel may call the barrier.
Ref<Error> run_alone(ParallelTask task, void *data) {
  Counter counter;
  Launch launch{task, data, {&counter, 1}, 0, -1, nullptr};
  return run_task(launch, 0);
}

// Throws if the call must end. token->ask() may run the signal handlers of a host language, which decide that.
void check_stop(CancelReason reason) {
  if (ends_call(reason)) throw Exception(make_cancel_error(reason, "before a parallel region"));
  auto *token = static_cast<CancelState *>(thread_state().cancel);
  if (Ref<Error> error = token ? token->ask() : nullptr) throw Exception(std::move(error));
}

Ref<Error> launch_tasks(ParallelTask task, void *data, int32_t num_task) {
  if (num_task < 0 || num_task > WorkerSet::kMaxTasks)
    fail(OPD_OUT_OF_RANGE, "num_task must be 1 to ", WorkerSet::kMaxTasks, ", or 0 for all free threads, but is ",
         num_task);
  const bool gang = num_task > 0;
  // Inside a task the flag is not used: other tasks may wait for this one at a barrier, so it runs to its end.
  const CancelFlag *stop = thread_state().parallel_depth > 0 ? nullptr : thread_state().stop;
  if (stop && stop->load(std::memory_order_relaxed) != CancelReason::kNone) [[unlikely]]
    check_stop(stop->load());
  const int32_t most = gang ? num_task : thread_state().parallel_depth > 0 ? 1 : thread_count();
  if (most == 1) return run_alone(task, data);

  auto &set = WorkerSet::get();
  Worker *places[WorkerSet::kMaxTasks];
  std::span<Worker *> team(places, static_cast<size_t>(most - 1));
  if (gang) set.take_gang(team);
  else team = team.first(set.take_shared(most - 1, team));
  if (team.empty()) return run_alone(task, data);

  const auto count = static_cast<int32_t>(team.size()) + 1;
  auto *const observer = static_cast<TaskObserver *>(thread_state().task_observer);
  Launch launch{task, data, {nullptr, count, false, set.has_processor_each(team)}, set.generation(), -1, observer};
  // Allocating more than eight counters may fail. The workers must be returned in that case, too.
  struct Return {
    WorkerSet &set;
    std::span<Worker *> team;
    const Launch &launch;
    ~Return() { set.give_back(team, launch); }
  } give_back{set, team, launch};
  FewOrMany<Counter, 8> counters(static_cast<size_t>(count));  // so a small launch allocates nothing
  launch.group.sync = counters.data();
  // Tasks of a gang may meet at a barrier at any time, so none of them may be skipped.
  if (stop && !gang) make_stoppable(launch.group, stop);
  ParallelLoop loop;
  if (is_recording(Interest::kTasks)) [[unlikely]] {
    loop = begin_loop(static_cast<uint32_t>(count));
    counters_of(launch.group)->loop = &loop;
    launch.group.is_recorded = true;
  }
  return run_team(launch, team, gang);
}

// ---- the number of threads that a launch may use

std::atomic<int32_t> chosen{0}, standard{0};  // 0: not known

}  // namespace

int32_t thread_count_of_environment() {
  for (const char *name : {"OPDYNO_NUM_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char *value = std::getenv(name);
    if (!value || !*value) continue;
    std::string_view text = value;
    text = text.substr(0, text.find(','));  // OpenMP allows a number for each level of nesting
    int32_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error == std::errc() && end == text.data() + text.size() && count > 0) return count;
    log_variable_warning(concat(name, " is \"", value, "\", which is not a number of threads; it is ignored"));
  }
  return 0;
}

int32_t thread_count() {
  if (const int32_t count = chosen.load(std::memory_order_relaxed)) return count;
  if (const int32_t count = standard.load(std::memory_order_relaxed)) return count;
  const int32_t given = thread_count_of_environment();
  const int32_t count = std::min(given ? given : usable_processors(), WorkerSet::kMaxTasks);
  standard.store(count, std::memory_order_relaxed);
  return count;
}

void set_thread_count(int32_t count) {
  if (count < 0 || count > WorkerSet::kMaxTasks)
    fail(OPD_OUT_OF_RANGE, "the number of threads must be 1 to ", WorkerSet::kMaxTasks,
         ", or 0 for the default, but is ", count);
  if (count == 0) standard.store(0, std::memory_order_relaxed);  // the processors may have changed
  chosen.store(count, std::memory_order_relaxed);
}

void make_stoppable(ParallelGroup &group, const CancelFlag *stop) {
  Counter &shared = *counters_of(group);
  shared.tasks = 0;
  shared.dropped = false;
  shared.stop = stop;
  group.is_stoppable = true;
}

Ref<Error> run_task(Launch &launch, int32_t task_id) noexcept {
  const bool is_stoppable = launch.group.is_stoppable;
  if (is_stoppable && !begin_task(launch.group)) return nullptr;
  const uint64_t begin = launch.group.is_recorded ? task_begin() : 0;
  ++thread_state().parallel_depth;
  Ref<Error> error;
  try {
    if (launch.task(task_id, &launch.group, launch.data) != 0) error = take_raised();
  } catch (...) { error = current_error(); }
  --thread_state().parallel_depth;
  if (launch.group.is_recorded) [[unlikely]]
    add_task_event(*counters_of(launch.group)->loop, static_cast<uint32_t>(task_id), begin);
  // Without this, the other tasks would wait for the failed one at their next barrier forever.
  if (error) counters_of(launch.group)[task_id].ref().store(kFailed, std::memory_order_release);
  if (is_stoppable) end_task(launch.group);
  return error;
}

int parallel_launch(ParallelTask task, void *data, int32_t num_task) noexcept {
  return raising([&] {
    if (Ref<Error> error = launch_tasks(task, data, num_task)) [[unlikely]]
      throw Exception(std::move(error));
  });
}

// Each task counts its arrivals and waits until every other one has arrived as often. The counters are never reset, so
// a fast task may reach the next barrier before a slow one has seen that it may leave this one.
int parallel_barrier(int task_id, ParallelGroup *group) noexcept {
  if (group->is_stoppable) need_all_tasks(*group);
  Counter *counters = counters_of(*group);
  const int32_t round = counters[task_id].ref().fetch_add(1, std::memory_order_acq_rel) + 1;
  for (int32_t other = 0; other < group->num_task; ++other) {
    if (other == task_id) continue;
    int32_t seen = 0;
    const auto arrived = [&] { return (seen = counters[other].ref().load(std::memory_order_acquire)) >= round; };
    // Waiting tasks do not sleep, so an arrival needs no system call to wake them.
    while (!spin_until(group->spins, arrived)) sched_yield();
    if (seen != kFailed) continue;
    set_raised(make_error(OPD_CANCELLED, concat("task ", other, " failed before the barrier")));
    return -1;
  }
  return 0;
}

}  // namespace opd
