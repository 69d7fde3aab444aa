#include "profiler/collector_run.h"

#include <algorithm>

#include "device/device.h"
#include "value/dtype.h"
#include "value/map.h"

namespace opd {

// ---- waits for a processor

CallWaits::CallWaits() {
  constexpr double kLongNs = 100'000, kCostOfLong = 100;  // a call is long from here, or from this many reads
  uint64_t read = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {  // the least of several, because this thread may lose the processor meanwhile
    const uint64_t begin = ticks_of(clock_);
    (void)wait_.read();
    read = std::min(read, ticks_of(clock_) - begin);
  }
  long_ = static_cast<uint64_t>(std::max(kLongNs / line_.ns_per_tick, kCostOfLong * static_cast<double>(read)));
  seen_ = ticks_of(clock_);
}

void CallWaits::begin_run() noexcept {
  if (depth_++ == 0) {
    open_.clear();       // an error may have left calls open
    (void)wait_.read();  // waits before the run
  }
  seen_ = ticks_of(clock_);
}

uint64_t CallWaits::before_call() {
  const uint64_t now = ticks_of(clock_);
  read_after(now - seen_);  // what the VM waited for since the last call
  open_.push_back({});
  return ticks_of(clock_) - now;
}

// If memory cannot be allocated, the wait is lost, like the event.
uint64_t CallWaits::end_call(uint64_t begin, Recordings recording, EventItems &out) noexcept {
  const uint64_t now = ticks_of(clock_);
  while (!open_.empty() && open_.back().ticks > begin) open_.pop_back();  // calls that an error ended
  read_after(now - seen_);
  if (!open_.empty()) try {
      const Open call = open_.back();
      open_.pop_back();
      const uint64_t waited = waited_ns_ - call.waited_ns;
      if (!open_.empty()) open_.back().nested_ns += waited;
      if (waited > call.nested_ns) {
        const double own_ns = std::min(static_cast<double>(waited - call.nested_ns), line_.duration_ns(now - begin));
        const Metric metric = Metric::of_number(MetricKind::kDuration, own_ns / 1000);
        out.add({EventItem::Type::kWaited, recording, kNoName, metric, {}});
      }
    } catch (const std::bad_alloc &) {}
  return ticks_of(clock_) - now;
}

// ---- one thread

CollectorRun::CollectorRun(CollectorSet &set, Recordings recording)
    : set_(set),
      waits_(set.waits_ ? &*set.waits_ : nullptr),
      recording_(recording),
      num_devices_(set.devices_.size()),
      costs_(set.members_.size()) {
  reserve(64);
}

// A child of fork() has only the thread that called it. The state of other threads may have been copied during a
// change.
bool CollectorRun::is_lost() const { return generation_ != fork_generation() && thread_ != fork_survivor(); }

// reserve() has made room, so no state is lost.
uint64_t CollectorRun::begin(DLDevice device) noexcept {
  const uint64_t first = ticks_of(set_.clock_);
  uint64_t ticks = first;
  const bool is_own = std::exchange(is_busy_, true);
  for (size_t i = 0; i < costs_.size(); ++i) {
    CollectorSet::Member &member = set_.members_[i];
    void *state = nullptr;
    // A collector that gets no state here is not stopped either. It still has an entry in the list, so that begin() and
    // end() match.
    if (!is_own && !member.has_failed.load(std::memory_order_relaxed))
      set_.attempt(member, [&] { state = member.collector->start(device); });
    states_.push_back(state);
    const uint64_t now = ticks_of(set_.clock_);
    costs_[i] += now - ticks;
    ticks = now;
  }
  is_busy_ = is_own;
  // The tick is read after the collectors have started and before the call begins. end_call() compares it with the
  // start of the call.
  began_.push_back(ticks);
  return ticks - first;
}

uint64_t CollectorRun::end() noexcept {
  metrics_.clear();
  const uint64_t begin = ticks_of(set_.clock_);
  uint64_t ticks = begin;
  const bool is_own = std::exchange(is_busy_, true);
  const size_t first = states_.size() - costs_.size();
  // Collectors stop in reverse order, as opdyno/collector.h documents: the first one measures around all others.
  for (size_t i = costs_.size(); i-- > 0;) {
    void *const state = states_[first + i];
    // Stop a collector even if it has failed since its start: only stop() takes back its state.
    if (!state) continue;
    CollectorSet::Member &member = set_.members_[i];
    set_.attempt(member, [&] { member.collector->stop(state, metrics_); });
    const uint64_t now = ticks_of(set_.clock_);
    costs_[i] += now - ticks;
    ticks = now;
  }
  is_busy_ = is_own;
  states_.resize(first);
  began_.pop_back();
  return ticks - begin;
}

size_t CollectorRun::begin_run() {
  const size_t depth = began_.size();
  reserve(depth + num_devices_);
  for (const DLDevice device : set_.devices_) begin(device);
  if (waits_) waits_->begin_run();
  return depth;
}

void CollectorRun::end_run(size_t depth, EventItems &out) noexcept try {
  if (waits_) waits_->end_run();
  end_down_to(depth + num_devices_);  // calls that an error left open
  const auto add = [&](EventItem::Type type, uint64_t bits) {
    out.add({type, recording_, kNoName, {MetricKind::kCount, bits}, {}});
  };
  // Devices are ended in reverse order, because states are a stack.
  for (size_t i = num_devices_; i-- > 0;) {
    end();
    add(EventItem::Type::kDevice, std::bit_cast<uint64_t>(set_.devices_[i]));
    metrics_.add_to(out, recording_);
  }
  add(EventItem::Type::kObserved, std::exchange(outermost_cost_, 0));
} catch (const std::bad_alloc &) { end_down_to(depth); }

// ---- all threads

CollectorSet::CollectorSet(std::span<const Ref<Collector>> collectors, std::span<const DLDevice> devices,
                           bool is_session, bool has_waits)
    : members_(collectors.size()), devices_(devices.begin(), devices.end()), is_session_(is_session) {
  if (has_waits) waits_.emplace();
  for (size_t i = 0; i < collectors.size(); ++i) members_[i].collector = collectors[i];
  for (Member &member : members_)
    attempt(member, [&] {
      if (!member.collector->claim())
        fail(OPD_FAILED_PRECONDITION, "the collector is in use by another run, or stands twice in the list");
      // The flag is set before init(), so that finish() is called even if init() fails halfway.
      member.is_claimed = true;
      member.collector->init(devices);
    });
}

// A collector that fails is not started again, on any thread.
template <class F>
void CollectorSet::attempt(Member &member, F &&body) noexcept {
  try {
    body();
  } catch (...) {
    Ref<Error> error = current_error();
    // Threads may fail concurrently. The flag needs no memory order: a thread that sees it late starts the collector
    // once more.
    std::scoped_lock lock(guard_);
    if (!member.error) member.error = std::move(error);
    member.has_failed.store(true, std::memory_order_relaxed);
  }
}

// A lost thread's run may be half changed, so its open calls stay open.
void CollectorSet::end() noexcept {
  for (CollectorRun &run : runs_)
    if (!run.is_lost()) run.end_down_to(0);  // calls that an error left open
  for (size_t i = members_.size(); i-- > 0;)
    if (std::exchange(members_[i].is_claimed, false)) {
      members_[i].collector->finish();
      members_[i].collector->give_back();
    }
}

std::vector<ObserverSummary> CollectorSet::finish() {
  end();
  std::vector<ObserverSummary> all;
  for (size_t i = 0; i < members_.size(); ++i) {
    ObserverSummary summary;
    summary.name = name_of(i);
    if (members_[i].error) summary.error = members_[i].error->message;
    summary.note = note_of(members_[i]);
    for (const CollectorRun &run : runs_) summary.cost_ticks += run.costs_[i];
    all.push_back(std::move(summary));
  }
  return all;
}

Ref<Error> CollectorSet::first_error() const {
  for (const Member &member : members_)
    if (member.error) return member.error;
  return nullptr;
}

// ---- one function

namespace {

static_assert(int{OPD_METRIC_STRING} == static_cast<int>(MetricKind::kString));

void insert(Map &map, std::string_view name, MetricKind kind, const Value &value) {
  const View pair[] = {opd_int(static_cast<int64_t>(kind)), value.view()};
  map.insert(Value(name).view(), view_of(Array::make(pair).get()));
}

Ref<Map> map_of(const MetricList &metrics) {
  Ref<Map> map = Map::make({});
  for (const MetricList::Item &item : metrics.items()) {
    const Metric metric = item.metric;
    Value value;
    if (metric.kind == MetricKind::kString) value = Value(std::string_view(metrics.texts()[metric.text()]));
    else value = Value(metric.is_integer() ? opd_int(metric.count()) : opd_float(metric.number()));
    insert(*map, metrics.name_of(item), metric.kind, value);
  }
  return map;
}

Value measure(Function &function, DLDevice device, std::span<const Ref<Collector>> collectors, int32_t warmup_iters,
              Args args) {
  for (int32_t i = 0; i < warmup_iters; ++i) call(function, args);
  CollectorSet set(collectors, {&device, 1});
  CollectorRun &run = set.of_thread(0);
  wait_for_device(device);
  const ClockId clock = tick_clock();
  run.begin_call(device);
  const uint64_t begin = ticks_of(clock);
  call(function, args);
  wait_for_device(device);
  const uint64_t ticks = ticks_of(clock) - begin;
  EventItems items;
  run.end_call(begin, items);
  set.end();
  if (const auto error = set.first_error()) throw Exception(error);
  const uint64_t empty = empty_interval_ticks(clock);
  const double us = ClockCalibration::measure(clock).duration_ns(ticks > empty ? ticks - empty : 0) / 1000;
  const Ref<Map> map = map_of(run.metrics());
  insert(*map, "Duration (us)", MetricKind::kDuration, Value(opd_float(us)));
  return Value(view_of(map.get()));
}

}  // namespace

Ref<Function> profile_function(Ref<Function> function, DLDevice device, std::vector<Ref<Collector>> collectors,
                               int32_t warmup_iters) {
  return make_function([=](Args args) { return measure(*function, device, collectors, warmup_iters, args); });
}

}  // namespace opd
