#include "profiler/counter_collector.h"

#include <time.h>

#include <algorithm>

#include "base/thread_state.h"

namespace opd {

// The counters at the start of a call, or of a task on a worker. Values are in groups, one per thread: first the thread
// itself, with the counters of the call and the process, then each worker. Missing values are 0.
struct CounterCollector::State {
  DLDevice device;
  Thread *thread;
  std::vector<uint64_t> begin;
};

// A thread that makes calls, or is a worker, or both. Only the thread itself uses it, except for by_workers.
class CounterCollector::Thread final : public TaskObserver {
 public:
  // Allocates the values, so that the first task does not count the page faults.
  Thread(CounterCollector &owner, std::unique_ptr<CounterReader> reader)
      : now(owner.counters_.size()), owner_(owner), reader_(std::move(reader)) {
    idle_.push_back(std::make_unique<State>());
    idle_.back()->begin.resize(now.size());
  }

  std::unique_ptr<State> take_state() {
    if (idle_.empty()) return std::make_unique<State>();
    auto state = std::move(idle_.back());
    idle_.pop_back();
    return state;
  }
  void give_back(std::unique_ptr<State> state) { idle_.push_back(std::move(state)); }

  // Reads the values of this thread alone, and allocates those of the others.
  void read(std::vector<uint64_t> &values) {
    values.resize(std::max(values.size(), owner_.counters_.size()));
    if (reader_) reader_->read(values.data());
  }

  void begin_call() {
    if (calls_++ == 0) begin_observing_tasks(*this);
  }
  void end_call() {
    if (--calls_ == 0) end_observing_tasks(*this);
  }

  // Begins a task that this thread launched. Called on the worker.
  void *begin_task() noexcept override;
  void end_task(void *given) noexcept override;

  bool is_estimated(size_t place) const { return reader_ && reader_->is_estimated(place); }

  std::vector<uint64_t> now;
  size_t worker = SIZE_MAX;  // number of the worker; SIZE_MAX: not a worker
  // Counts of workers during tasks of this thread, worker by worker. Workers write it under the guard. When this thread
  // reads it, all tasks have ended.
  std::vector<uint64_t> by_workers;

 private:
  CounterCollector &owner_;
  const std::unique_ptr<CounterReader> reader_;
  std::vector<std::unique_ptr<State>> idle_;
  int64_t calls_ = 0;  // number of open calls
};

void *CounterCollector::Thread::begin_task() noexcept {
  Thread *const worker = owner_.find_thread();
  if (!worker || worker->worker == SIZE_MAX) return nullptr;  // the worker could not join
  try {
    auto state = worker->take_state();
    state->thread = worker;
    state->begin.clear();
    worker->read(state->begin);
    return state.release();
  } catch (...) { return nullptr; }  // end_task() reports the failure
}

void CounterCollector::Thread::end_task(void *given) noexcept {
  std::unique_ptr<State> state(static_cast<State *>(given));
  const size_t width = owner_.counters_.size();
  std::string failure = "a worker's counters can no longer be read";
  try {
    if (state) {
      Thread &worker = *state->thread;
      worker.now.clear();
      worker.read(worker.now);
      std::scoped_lock lock(owner_.guard_);
      by_workers.resize(std::max(by_workers.size(), (worker.worker + 1) * width));
      for (size_t i = 0; i < width; ++i) by_workers[worker.worker * width + i] += worker.now[i] - state->begin[i];
      worker.give_back(std::move(state));
      return;
    }
  } catch (const Exception &e) { failure = e.error()->message; } catch (...) {
  }
  std::scoped_lock lock(owner_.guard_);
  if (owner_.failed_join_.empty()) owner_.failed_join_ = std::move(failure);
}

CounterCollector::CounterCollector(std::string name, bool per_thread)
    : Collector(std::move(name)), per_thread_(per_thread) {}
CounterCollector::~CounterCollector() { CounterCollector::finish(); }

void CounterCollector::add_counter(Counter counter) {
  least_.push_back(concat(counter.name, " (least of threads)"));
  most_.push_back(concat(counter.name, " (most of threads)"));
  counters_.push_back(std::move(counter));
}

void CounterCollector::add_note(std::string_view text) { notes_ += concat(notes_.empty() ? "" : "; ", text); }

void CounterCollector::init(std::span<const DLDevice>) {
  estimated_.assign(counters_.size(), false);
  went_back_.assign(counters_.size(), false);
  failed_join_.clear();
  static constinit std::atomic<uint64_t> last_recording{0};
  recording_ = last_recording.fetch_add(1, std::memory_order_relaxed) + 1;
  rest_ = open_rest();
  thread_here();  // the thread that probably makes the calls
  const auto is_of_threads = [](const Counter &counter) { return counter.of == Counter::Of::kThread; };
  if (std::none_of(counters_.begin(), counters_.end(), is_of_threads)) return;
  add_worker_observer(*this);
  watches_ = true;
  gather_workers();
}

CounterCollector::Thread *CounterCollector::find_thread() {
  // A cache by number of the recording: most threads use few recordings repeatedly.
  thread_local struct {
    uint64_t recording;
    Thread *thread;
  } known[4];
  auto &[recording, thread] = known[recording_ % std::size(known)];
  if (recording == recording_) return thread;
  std::scoped_lock lock(guard_);
  const auto found = threads_.find(thread_number());
  if (found == threads_.end()) return nullptr;
  recording = recording_;
  return thread = found->second.get();
}

CounterCollector::Thread &CounterCollector::thread_here() {
  if (Thread *const known = find_thread()) return *known;
  auto fresh = std::make_unique<Thread>(*this, open_thread());
  std::scoped_lock lock(guard_);
  return *threads_.emplace(thread_number(), std::move(fresh)).first->second;
}

void CounterCollector::joined() noexcept {
  std::string failure;
  try {
    thread_here().worker = num_workers_.fetch_add(1, std::memory_order_relaxed);
    return;
  } catch (const Exception &e) { failure = e.error()->message; } catch (...) {
    failure = "no memory";
  }
  std::scoped_lock lock(guard_);
  if (failed_join_.empty()) failed_join_ = std::move(failure);
}

void CounterCollector::finish() noexcept {
  if (std::exchange(watches_, false)) remove_worker_observer(*this);
  for (size_t place = 0; place < estimated_.size(); ++place) {
    const auto is_estimated = [&](const auto &each) { return each.second->is_estimated(place); };
    if (std::any_of(threads_.begin(), threads_.end(), is_estimated) || (rest_ && rest_->is_estimated(place)))
      estimated_[place] = true;
  }
  threads_.clear();
  num_workers_ = 0;
  rest_ = nullptr;
}

bool CounterCollector::counts_on(const Counter &counter, DLDevice device) const {
  return counter.device.device_type == device.device_type &&
         (counter.device.device_id < 0 || counter.device.device_id == device.device_id);
}

// Reads all values except the thread's own: those of its workers, of the call, and of the process.
void CounterCollector::read_rest(const Thread &thread, std::vector<uint64_t> &values) {
  const size_t width = counters_.size();
  values.resize((1 + num_workers_.load(std::memory_order_relaxed)) * width);
  std::copy(thread.by_workers.begin(), thread.by_workers.end(), values.begin() + static_cast<ptrdiff_t>(width));
  if (rest_) rest_->read(values.data());
}

void *CounterCollector::start(DLDevice device) {
  if (std::none_of(counters_.begin(), counters_.end(), [&](const Counter &c) { return counts_on(c, device); }))
    return nullptr;
  Thread &thread = thread_here();
  auto state = thread.take_state();
  state->device = device;
  state->thread = &thread;
  state->begin.clear();
  read_rest(thread, state->begin);
  thread.begin_call();
  try {
    thread.read(state->begin);  // read last, so that the work done here is not counted
  } catch (...) {
    thread.end_call();
    throw;
  }
  return state.release();
}

void CounterCollector::stop(void *given, MetricList &out) {
  std::unique_ptr<State> state(static_cast<State *>(given));
  Thread &thread = *state->thread;
  thread.end_call();
  thread.now.clear();
  thread.read(thread.now);
  read_rest(thread, thread.now);
  for (size_t place = 0; place < counters_.size(); ++place)
    if (counts_on(counters_[place], state->device)) give(place, *state, thread.now, out);
  thread.give_back(std::move(state));
}

// The count since the start. If a counter fell without wrapping, it was reset.
double CounterCollector::change(size_t at, const State &state, const std::vector<uint64_t> &now, bool &is_good) const {
  const Counter &counter = counters_[at % counters_.size()];
  const uint64_t begin = at < state.begin.size() ? state.begin[at] : 0, end = now[at];
  uint64_t counted = end - begin;
  if (counter.range && end < begin) counted += counter.range;
  is_good = counted <= static_cast<uint64_t>(INT64_MAX);
  return static_cast<double>(counted) * counter.scale;
}

void CounterCollector::give(size_t place, const State &state, const std::vector<uint64_t> &now, MetricList &out) {
  const Counter &counter = counters_[place];
  const auto metric = [&](double number) {
    return Metric{metric_kind_of(counter.kind)}.is_integer() ? Metric::of_count(static_cast<int64_t>(number))
                                                             : number_metric(counter.kind, number);
  };
  const bool is_of_threads = counter.of == Counter::Of::kThread;
  double sum = 0, least = 0, most = 0;
  for (size_t at = place; at < (is_of_threads ? now.size() : counters_.size()); at += counters_.size()) {
    bool is_good;
    const double counted = change(at, state, now, is_good);
    if (!is_good) {
      std::scoped_lock lock(guard_);
      went_back_[place] = true;
      return;
    }
    sum += counted;
    least = at == place ? counted : std::min(least, counted);
    most = std::max(most, counted);
  }
  out.set(counter.name, metric(sum));
  if (!per_thread_ || !is_of_threads) return;
  out.set(least_[place], metric(least));
  out.set(most_[place], metric(most));
}

std::string CounterCollector::names_of(const std::vector<char> &marks, std::string_view what) const {
  std::string names;
  for (size_t i = 0; i < marks.size(); ++i)
    if (marks[i]) names += concat(names.empty() ? "" : ", ", counters_[i].name);
  return names.empty() ? names : concat(names, what);
}

std::string CounterCollector::note() {
  std::string text = notes_;
  const auto add = [&](std::string_view more) {
    if (!more.empty()) text += concat(text.empty() ? "" : "; ", more);
  };
  add(names_of(estimated_, ": counted part of the time and scaled, since the processor has too few counters for all"));
  add(names_of(went_back_, ": left out where the counter fell, as one that is reset does"));
  if (!failed_join_.empty()) add(concat("not all worker threads are counted: ", failed_join_));
  return text;
}

std::string CounterCollector::shared() {
  std::vector<char> marks;
  for (const Counter &counter : counters_) marks.push_back(counter.of == Counter::Of::kProcess);
  return names_of(marks, ": of the whole process");
}

// ---- wall time, and the processor time of all threads of a call

namespace {

template <clockid_t kClock>
class Time final : public CounterReader {
 public:
  explicit Time(size_t place) : place_(place) {}
  void read(uint64_t *values) override {
    timespec time{};
    if (clock_gettime(kClock, &time)) fail(OPD_UNSUPPORTED, "the system has no clock of one thread");
    values[place_] = static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
  }

 private:
  const size_t place_;
};

class TimeCollector final : public CounterCollector {
 public:
  explicit TimeCollector(bool per_thread) : CounterCollector("time", per_thread) {
    Counter wall{"Wall time (us)", OPD_METRIC_DURATION, 1e-3}, cpu{"CPU time (us)", OPD_METRIC_DURATION, 1e-3};
    wall.of = Counter::Of::kCall;
    add_counter(std::move(wall));
    add_counter(std::move(cpu));
  }

 private:
  std::unique_ptr<CounterReader> open_thread() override { return std::make_unique<Time<CLOCK_THREAD_CPUTIME_ID>>(1); }
  std::unique_ptr<CounterReader> open_rest() override { return std::make_unique<Time<CLOCK_MONOTONIC>>(0); }
};

}  // namespace

Ref<Collector> make_time_collector(const CounterOptions &options) {
  return make_object<TimeCollector>(options.per_thread);
}

}  // namespace opd
