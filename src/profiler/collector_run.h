// Runs collectors around the calls of each thread, keeps their errors from ending these calls, and writes their metrics
// into a report. Cost: some 65 ns per call with one collector, plus the collector's own work (tools/bench:
// profile_collector less profile_record).
#pragma once
#include <deque>
#include <mutex>

#include "base/clock.h"
#include "base/fork_mutex.h"
#include "profiler/collector.h"
#include "trace/call_observer.h"

namespace opd {

class CollectorSet;

// Runs the collectors for one thread's calls and keeps their metrics.
class CollectorRun final : public CallObserver {
 public:
  explicit CollectorRun(CollectorSet &set);
  CollectorRun(const CollectorRun &) = delete;

  void begin_call(DLDevice device) override;
  void end_call(uint64_t begin, uint64_t sequence) noexcept override;
  size_t begin_run() override;  // starts the collectors once for every device
  void end_run(size_t run) noexcept override;
  bool is_busy() const noexcept override { return is_busy_; }
  void finish() noexcept { end_down_to(0); }  // ends calls that an error left open

  // For the report, after the recording: writes the metrics of the record `sequence` into the current row. `sequence`
  // must be larger than the one before.
  void set_row(ReportBuilder &builder, uint64_t sequence);
  const MetricRows &rows() const { return rows_; }

 private:
  friend class CollectorSet;
  void reserve(size_t calls);
  uint64_t begin(DLDevice device) noexcept;  // these two return the ticks that collectors took
  uint64_t end(MetricRows &out, uint64_t row) noexcept;
  bool is_between_calls() const { return began_.size() == totals_.size(); }  // except for runs within another run
  void end_down_to(size_t depth) noexcept;

  CollectorSet &set_;
  std::vector<uint64_t> costs_;     // ticks of each collector
  std::vector<MetricRows> totals_;  // by device: a row for each run
  std::vector<uint64_t> began_;     // ticks at the begin of each open call
  std::vector<void *> states_;      // one for each collector and open call
  MetricRows rows_, dropped_;
  size_t next_cell_ = 0;
  uint64_t runs_ = 0;
  uint64_t outermost_cost_ = 0;  // ticks of collectors around outermost calls
  bool is_busy_ = false;         // a collector runs: its own calls are not shown to it
  std::vector<size_t> columns_;  // in the report, by name in rows_
};

// The collectors of a recording, on any number of threads.
class CollectorSet final : public CallObservers {
 public:
  // Prepares the collectors. Each thread drops metrics of rows from `max_rows` on. `is_session`: other calls may run at
  // the same time, so the report must say which metrics include them.
  CollectorSet(std::span<const Ref<Collector>> collectors, std::span<const DLDevice> devices, uint64_t max_rows,
               bool is_session = false);
  ~CollectorSet() override { finish(); }
  CollectorSet(const CollectorSet &) = delete;

  CollectorRun &of_thread() override { return runs_.emplace_back(*this); }
  void finish() noexcept;  // to be called when no call runs

  // For the report, after finish(): writes the metrics of the current device, of all threads; and notes on the
  // collectors.
  void set_device(ReportBuilder &builder, DLDevice device) const;
  void configure(ReportBuilder &builder, const ClockCalibration &line) const;
  Ref<Error> first_error() const;   // of the first collector that failed; null if none did
  uint64_t outermost_cost() const;  // ticks that collectors took within runs, but outside of recorded calls

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
  uint64_t cost_of(size_t member) const;
  std::string note_of(const Member &member) const;

  std::vector<Member> members_;
  const std::vector<DLDevice> devices_;
  const uint64_t max_rows_;
  const bool is_session_;
  const ClockId clock_ = tick_clock();
  ForkMutex guard_{LockRank::kCollectorSet};  // of errors
  std::deque<CollectorRun> runs_;
};

}  // namespace opd
