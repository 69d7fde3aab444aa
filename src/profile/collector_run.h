// Collectors at work: told of the calls of each thread, kept from ending them, and made columns of a report.
// Cost: of a call some 65 ns with one collector, beside what that does (tools/bench: profile_collector less
// profile_record).
#pragma once
#include <deque>
#include <mutex>

#include "base/clock.h"
#include "base/fork_mutex.h"
#include "profile/collector.h"
#include "trace/call_observer.h"

namespace opd {

class CollectorSet;

// What collectors are told of one thread's calls, and what they measured of them.
class CollectorRun final : public CallObserver {
 public:
  explicit CollectorRun(CollectorSet &set);
  CollectorRun(const CollectorRun &) = delete;

  void begin_call(DLDevice device) override;
  void end_call(uint64_t begin, uint64_t sequence) noexcept override;
  size_t begin_run() override;  // started once for every device
  void end_run(size_t run) noexcept override;
  bool is_busy() const noexcept override { return is_busy_; }
  void finish() noexcept { end_down_to(0); }  // ends what an error left open

  // For the report, once all has ended: metrics of the row begun, whose record has this number, larger than the one
  // before.
  void set_row(ReportBuilder &builder, uint64_t sequence);
  const MetricRows &rows() const { return rows_; }

 private:
  friend class CollectorSet;
  void reserve(size_t calls);
  uint64_t begin(DLDevice device) noexcept;  // these two give the ticks that collectors took
  uint64_t end(MetricRows &out, uint64_t row) noexcept;
  bool is_between_calls() const { return began_.size() == totals_.size(); }  // of a run that is not within another
  void end_down_to(size_t depth) noexcept;

  CollectorSet &set_;
  std::vector<uint64_t> costs_;     // of each collector, in ticks
  std::vector<MetricRows> totals_;  // of each device: a row for each run
  std::vector<uint64_t> began_;     // of the calls under way
  std::vector<void *> states_;      // of those: one for each collector
  MetricRows rows_, dropped_;
  size_t next_cell_ = 0;
  uint64_t runs_ = 0;
  uint64_t outermost_cost_ = 0;  // ticks around calls that were not within others
  bool is_busy_ = false;         // a collector runs: calls that it makes are not shown to it
  std::vector<size_t> columns_;  // of the report, by name in rows_
};

// The collectors of a recording, on however many threads.
class CollectorSet final : public CallObservers {
 public:
  // Prepares them. Metrics of rows of a thread from `max_rows` on are dropped. `is_session`: calls of others may run at
  // the same time, which the report is to say of what those are counted in.
  CollectorSet(std::span<const Ref<Collector>> collectors, std::span<const DLDevice> devices, uint64_t max_rows,
               bool is_session = false);
  ~CollectorSet() override { finish(); }
  CollectorSet(const CollectorSet &) = delete;

  CollectorRun &of_thread() override { return runs_.emplace_back(*this); }
  void finish() noexcept;  // once no call is under way

  // For the report, after finish(): metrics of the device begun, of all threads; and what to know about the collectors.
  void set_device(ReportBuilder &builder, DLDevice device) const;
  void configure(ReportBuilder &builder, const ClockCalibration &line) const;
  Ref<Error> first_error() const;   // of the first collector that failed; null if none did
  uint64_t outermost_cost() const;  // ticks that they took within runs, but not within the calls of these

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
