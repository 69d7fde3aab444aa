#include "profiler/wait_observer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace opd {
namespace {

class WaitObserver final : public CallObserver {
 public:
  WaitObserver() {
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
  void observe_for(Recordings recording, CallObserver *inner) { recording_ = recording, inner_ = inner; }

  void begin_call(DLDevice device) override {
    const uint64_t now = ticks_of(clock_);
    read_after(now - seen_);  // what the VM waited for since the last call
    count_cost(now);
    open_.push_back({});
    if (inner_) inner_->begin_call(device);
    seen_ = ticks_of(clock_);
    open_.back() = {seen_, waited_ns_, 0};
  }

  // If memory cannot be allocated, the wait is lost, like the event.
  void end_call(uint64_t begin, EventItems &out) noexcept override {
    const uint64_t now = ticks_of(clock_);
    while (!open_.empty() && open_.back().ticks > begin) open_.pop_back();  // calls that an error ended
    read_after(now - seen_);
    if (!open_.empty()) try {
        const Open call = open_.back();
        open_.pop_back();
        const uint64_t waited = waited_ns_ - call.waited_ns;
        if (!open_.empty()) open_.back().nested_ns += waited;
        if (waited > call.nested_ns)
          add(out, std::min(static_cast<double>(waited - call.nested_ns), line_.duration_ns(now - begin)));
      } catch (const std::bad_alloc &) {}
    count_cost(now);
    if (inner_) inner_->end_call(begin, out);
    seen_ = ticks_of(clock_);
  }

  size_t begin_run() override {
    const size_t run = inner_ ? inner_->begin_run() : 0;
    if (depth_++ == 0) {
      open_.clear();       // an error may have left calls open
      (void)wait_.read();  // waits before the run
    }
    seen_ = ticks_of(clock_);
    return run;
  }
  void end_run(size_t run, EventItems &out) noexcept override try {
    --depth_;
    if (inner_) inner_->end_run(run, out);
    out.add({EventItem::Type::kObserved, recording_, kNoName, {MetricKind::kCount, std::exchange(cost_, 0)}, {}});
  } catch (const std::bad_alloc &) {}
  bool is_busy() const noexcept override { return inner_ && inner_->is_busy(); }

 private:
  struct Open {
    uint64_t ticks, waited_ns;  // at the start of the call
    uint64_t nested_ns;         // waits of nested calls
  };

  // The time from `from` to now is part of the program's run, but not of an operator's call.
  void count_cost(uint64_t from) noexcept {
    if (open_.empty()) cost_ += ticks_of(clock_) - from;
  }

  void read_after(uint64_t ticks) noexcept {
    if (ticks >= long_) [[unlikely]]
      waited_ns_ += wait_.read().waited_ns;
  }
  void add(EventItems &out, double waited_ns) const {
    const Metric waited = Metric::of_number(MetricKind::kDuration, waited_ns / 1000);
    out.add({EventItem::Type::kWaited, recording_, kNoName, waited, {}});
  }

  CallObserver *inner_ = nullptr;  // null: none
  Recordings recording_ = 0;
  const ClockId clock_ = tick_clock();
  const ClockCalibration line_ = ClockCalibration::measure(clock_);
  ProcessorWait wait_;
  uint64_t long_, seen_, cost_ = 0;  // ticks
  uint64_t waited_ns_ = 0;
  int depth_ = 0;  // nesting of runs
  std::vector<Open> open_;
};

class WaitObservers final : public CallObservers {
 public:
  explicit WaitObservers(std::unique_ptr<CallObservers> inner) : inner_(std::move(inner)) {}
  CallObserver &of_thread(Recordings recording) override {
    only_.observe_for(recording, inner_ ? &inner_->of_thread(recording) : nullptr);
    return only_;
  }
  std::vector<ObserverSummary> finish() override { return inner_ ? inner_->finish() : std::vector<ObserverSummary>(); }

 private:
  std::unique_ptr<CallObservers> inner_;
  WaitObserver only_;  // of the calling thread
};

}  // namespace

std::unique_ptr<CallObservers> observe_waits(std::unique_ptr<CallObservers> inner) {
  return std::make_unique<WaitObservers>(std::move(inner));
}

}  // namespace opd
