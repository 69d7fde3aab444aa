#include "profiler/wait_observer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "report/report.h"

namespace opd {
namespace {

class WaitObserver final : public CallObserver {
 public:
  WaitObserver() {
    constexpr double kLongNs = 100'000, kCostOfLong = 100;  // a call is long from here, or from this many reads
    const uint64_t begin = ticks_of(clock_);
    (void)wait_.read();
    const uint64_t read = ticks_of(clock_) - begin;
    long_ = static_cast<uint64_t>(std::max(kLongNs / line_.ns_per_tick, kCostOfLong * static_cast<double>(read)));
    seen_ = ticks_of(clock_);
  }
  void observe_for(Recordings recording, CallObserver *inner) { recording_ = recording, inner_ = inner; }

  void begin_call(DLDevice device) override {
    const uint64_t now = ticks_of(clock_);
    read_after(now - seen_);  // what the VM waited for since the last call
    if (inner_) inner_->begin_call(device);
    const bool is_outermost = open_.empty();
    seen_ = ticks_of(clock_);
    open_.push_back({seen_, waited_ns_});
    if (is_outermost) cost_ += seen_ - now;
  }

  // If memory is short, the wait is lost, like the event.
  void end_call(uint64_t begin, EventItems &out) noexcept override try {
    while (!open_.empty() && open_.back().ticks > begin) open_.pop_back();  // calls that an error ended
    const uint64_t now = ticks_of(clock_);
    read_after(now - seen_);
    if (!open_.empty()) {
      if (const uint64_t waited = waited_ns_ - open_.back().waited_ns)
        add(out, std::min(static_cast<double>(waited), line_.duration_ns(now - begin)));
      open_.pop_back();
    }
    if (inner_) inner_->end_call(begin, out);
    seen_ = ticks_of(clock_);
    if (open_.empty()) cost_ += seen_ - now;
  } catch (const std::bad_alloc &) {}

  size_t begin_run() override {
    const size_t run = inner_ ? inner_->begin_run() : 0;
    if (open_.empty()) (void)wait_.read();  // waits before the run
    seen_ = ticks_of(clock_);
    return run;
  }
  void end_run(size_t run, EventItems &out) noexcept override try {
    const uint64_t cost = std::exchange(cost_, 0);
    if (inner_) return inner_->end_run(run, out);  // which adds its own cost
    out.add({EventItem::Type::kObserved, recording_, kNoName, {MetricKind::kCount, cost}, {}});
  } catch (const std::bad_alloc &) {}
  bool is_busy() const noexcept override { return inner_ && inner_->is_busy(); }

 private:
  struct Open {
    uint64_t ticks, waited_ns;  // at the begin of the call
  };

  void read_after(uint64_t ticks) noexcept {
    if (ticks >= long_) [[unlikely]]
      waited_ns_ += wait_.read().waited_ns;
  }
  void add(EventItems &out, double waited_ns) const {
    const Metric waited = Metric::of_number(MetricKind::kDuration, waited_ns / 1000);
    out.add({EventItem::Type::kMetric, recording_, name_, waited, {}});
  }

  CallObserver *inner_ = nullptr;  // null: none
  Recordings recording_ = 0;
  const ClockId clock_ = tick_clock();
  const ClockCalibration line_ = ClockCalibration::measure(clock_);
  const NameId name_ = name_id(kWaitedColumn);
  ProcessorWait wait_;
  uint64_t long_, seen_, waited_ns_ = 0, cost_ = 0;  // ticks, but for waited_ns_
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
