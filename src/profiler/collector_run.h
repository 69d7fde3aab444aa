// Runs collectors around the calls of each thread and adds their metrics to the calls' events. Errors of collectors do
// not end these calls. Cost: about 65 ns per call with one collector, plus the collector's own work (tools/bench:
// profile_collector less profile_record).
#pragma once
#include <deque>

#include "base/clock.h"
#include "base/fork_mutex.h"
#include "base/static_guard.h"
#include "base/thread_state.h"
#include "device/cpu/processor_wait.h"
#include "profiler/collector.h"
#include "trace/model/event.h"

namespace opd {

class CollectorSet;

// Measures for each call how long its threads waited for a processor, without its nested calls. Only for a recording of
// the calling thread alone.
//
// The wait is read after calls that lasted 100 us or longer. A call that waited long also lasted long, so no long wait
// is missed. A shorter wait counts for the next long call. Cost: about 65 ns per call, and after a long call 1 us for
// each thread.
class CallWaits {
 public:
  CallWaits();
  void begin_run() noexcept;
  void end_run() noexcept { --depth_; }
  // before_call() is called before the collectors start, begin_call() after that. end_call() is called before they stop,
  // after_call() after that. Two of them return the ticks that they took.
  uint64_t before_call();
  void begin_call() noexcept { open_.back() = {seen_ = ticks_of(clock_), waited_ns_, 0}; }
  uint64_t end_call(uint64_t begin, Recordings recording, EventItems &out) noexcept;
  void after_call() noexcept { seen_ = ticks_of(clock_); }

 private:
  struct Open {
    uint64_t ticks, waited_ns;  // at the start of the call
    uint64_t nested_ns;         // waits of nested calls
  };
  void read_after(uint64_t ticks) noexcept {
    if (ticks >= long_) [[unlikely]]
      waited_ns_ += wait_.read().waited_ns;
  }

  const ClockId clock_ = tick_clock();
  const ClockCalibration line_ = ClockCalibration::measure(clock_);
  ProcessorWait wait_;
  uint64_t long_, seen_;  // ticks
  uint64_t waited_ns_ = 0;
  int depth_ = 0;  // nesting of runs
  std::vector<Open> open_;
};

// Runs the collectors for one thread's calls.
class CollectorRun final : public CallObserver {
 public:
  CollectorRun(CollectorSet &set, Recordings recording);
  CollectorRun(const CollectorRun &) = delete;

  void begin_call(DLDevice device) override {
    reserve(began_.size() + 1);
    // is_between_calls() is read before begin() opens this call. end_call() reads it after end() has closed the call.
    // So both count the same calls as outermost.
    const bool is_outermost = is_between_calls();
    const uint64_t cost_of_wait = waits_ ? waits_->before_call() : 0, cost = cost_of_wait + begin(device);
    if (waits_) waits_->begin_call();
    if (is_outermost) outermost_cost_ += cost;
  }
  // If memory cannot be allocated, the metrics are lost, like the event.
  void end_call(uint64_t begin, EventItems &out) noexcept override try {
    const uint64_t cost_of_wait = waits_ ? waits_->end_call(begin, recording_, out) : 0;
    // Calls that began later were ended by an error, without end_call(). Their metrics are lost: each end() clears the
    // list.
    while (began_.back() > begin) end();
    const uint64_t cost = cost_of_wait + end();
    if (waits_) waits_->after_call();
    if (is_between_calls()) outermost_cost_ += cost;
    metrics_.add_to(out, recording_);
  } catch (const std::bad_alloc &) {}
  size_t begin_run() override;  // starts the collectors once for every device
  void end_run(size_t run, EventItems &out) noexcept override;
  bool is_busy() const noexcept override { return is_busy_; }
  const MetricList &metrics() const { return metrics_; }  // metrics of the call that ended last

 private:
  friend class CollectorSet;
  void reserve(size_t calls) {
    if (began_.capacity() >= calls) return;
    // `began_` comes last: its capacity shows that both lists have room, even if memory was short before.
    states_.reserve(2 * calls * costs_.size());
    began_.reserve(2 * calls);
  }
  uint64_t begin(DLDevice device) noexcept;  // begin() and end() return the ticks that collectors took
  uint64_t end() noexcept;
  bool is_between_calls() const { return began_.size() == num_devices_; }  // not exact for nested runs
  void end_down_to(size_t depth) noexcept {
    while (began_.size() > depth) end();
  }
  bool is_lost() const;  // its thread did not survive a fork()

  CollectorSet &set_;
  CallWaits *const waits_;      // null: waits are not measured
  const Recordings recording_;  // marks the metrics
  const size_t num_devices_;
  const uint64_t thread_ = thread_number();
  const uint32_t generation_ = fork_generation();
  std::vector<uint64_t> costs_;  // ticks of each collector
  std::vector<uint64_t> began_;  // ticks at the start of each open call
  std::vector<void *> states_;   // one for each collector and open call
  MetricList metrics_;
  uint64_t outermost_cost_ = 0;  // ticks of collectors around outermost calls, since the last run ended
  bool is_busy_ = false;         // a collector is running: calls that it makes are not observed
};

// The collectors of a recording, for any number of threads.
class CollectorSet final : public CallObservers {
 public:
  // Prepares the collectors. `is_session`: other calls may run at the same time, so the report must name the metrics
  // that include them. `has_waits`: also measures the waits of calls.
  CollectorSet(std::span<const Ref<Collector>> collectors, std::span<const DLDevice> devices, bool is_session = false,
               bool has_waits = false);
  ~CollectorSet() override { end(); }
  CollectorSet(const CollectorSet &) = delete;

  CollectorRun &of_thread(Recordings recording) override { return runs_.emplace_back(*this, recording); }
  std::vector<ObserverSummary> finish() override;
  void end() noexcept;             // called when no call runs
  Ref<Error> first_error() const;  // error of the first collector that failed; null if none did

 private:
  friend class CollectorRun;
  struct Member {
    Ref<Collector> collector;
    bool is_claimed = false;
    std::atomic<bool> has_failed{false};
    Ref<Error> error;  // the first one
  };
  template <class F>
  void attempt(Member &member, F &&body) noexcept;
  std::string name_of(size_t member) const {
    const std::string &name = members_[member].collector->name();
    const auto before = std::count_if(members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(member),
                                      [&](const Member &other) { return other.collector->name() == name; });
    return before ? concat(name, " #", before + 1) : name;
  }
  std::string note_of(const Member &member) const {
    std::string note = member.collector->note();
    const std::string shared = is_session_ ? member.collector->shared() : "";
    if (!shared.empty())
      note += concat(note.empty() ? "" : "; ", shared, ", with what other calls do at the same time");
    return note;
  }

  std::vector<Member> members_;
  const std::vector<DLDevice> devices_;
  const bool is_session_;
  std::optional<CallWaits> waits_;
  const ClockId clock_ = tick_clock();
  ForkMutex guard_{LockRank::kCollectorSet};  // guards errors
  std::deque<CollectorRun> runs_;
};

}  // namespace opd
