// Collectors at work: told of a run's calls, kept from ending it, and made columns of its report.
// Cost: of a call 25 ns and 10 ns for each collector, beside what those do.
#pragma once
#include "base/clock.h"
#include "profile/collector.h"
#include "trace/call_observer.h"

namespace opd {

class CollectorRun final : public CallObserver {
 public:
  // Prepares the collectors. Metrics of rows from `max_rows` on are dropped.
  CollectorRun(std::span<const Ref<Collector>> collectors, std::span<const DLDevice> devices, uint64_t max_rows);
  ~CollectorRun() override { finish(); }
  CollectorRun(const CollectorRun &) = delete;

  void begin_call(DLDevice device) override;
  void end_call(uint64_t begin, uint64_t sequence) noexcept override;
  // Around each measured run, for every device.
  void begin_total();
  void end_total() noexcept;
  void finish() noexcept;  // ends what is left open

  // For the report, after finish(): metrics of the row begun, whose record has this number, larger than the one before;
  // of the device begun; and what to know about the collectors.
  void set_row(ReportBuilder &builder, uint64_t sequence);
  void set_device(ReportBuilder &builder, DLDevice device);
  void configure(ReportBuilder &builder, const ClockLine &line);
  // One row's metrics, and the error of the first collector that failed; null if none did.
  const MetricRows &rows() const { return rows_; }
  Ref<Error> first_error() const;
  uint64_t cost() const;  // ticks that the collectors took

 private:
  struct Member {
    Ref<Collector> collector;
    bool claimed = false;
    uint64_t cost = 0;  // ticks
    Ref<Error> error;   // the first one
  };
  struct Total {
    DLDevice device;
    MetricRows rows;  // a row for each run
  };
  template <class F>
  void attempt(Member &member, F &&body) noexcept;
  void begin(DLDevice device);
  void end(MetricRows &out, uint64_t row) noexcept;

  std::vector<Member> members_;
  std::vector<Total> totals_;
  std::vector<uint64_t> began_;  // of the calls under way
  std::vector<void *> states_;   // of those: one for each member
  MetricRows rows_, dropped_;
  size_t next_cell_ = 0;
  uint64_t max_rows_, runs_ = 0;
  std::vector<size_t> columns_;  // of the report, by name in rows_
  const ClockId clock_ = tick_clock();
};

}  // namespace opd
