// Counters that count each thread by itself, made to count what a call does on whatever threads: the calling one's and
// every worker's, while the pool goes on as it is.
// Cost of a start and of a stop: a read of each thread's counters.
#pragma once
#include <memory>
#include <mutex>

#include "device/cpu/worker_watch.h"
#include "profile/collector.h"

namespace opd {

struct Counter {
  std::string name;  // of the column
  opd_metric_kind kind = OPD_METRIC_COUNT;
  double scale = 1;             // of durations: to microseconds
  DLDevice device{kDLCPU, -1};  // counts during calls on this one; -1: on all of the kind
  bool per_thread = true;       // else of the whole process, and read with the first thread's
  uint64_t range = 0;           // where it wraps; 0: at 64 bits
};

// The counters of one thread, which run from now on; to be made and ended by whatever thread.
class ThreadCounters {
 public:
  virtual ~ThreadCounters() = default;
  // As many as there are Counters, 0 for those that it does not have; throws.
  virtual void read(uint64_t *values) = 0;
  virtual bool is_estimated(size_t) const { return false; }  // counted only part of the time, and scaled
};

class CounterCollector : public Collector, private WorkerWatch {
 public:
  static int32_t type() { return Collector::type(); }
  ~CounterCollector() override { finish(); }

  void init(std::span<const DLDevice> devices) override;
  void *start(DLDevice device) override;
  void stop(void *state, MetricRows &out) override;
  void finish() noexcept override;
  std::string note() override;

 protected:
  CounterCollector(std::string name, bool per_thread) : Collector(std::move(name)), per_thread_(per_thread) {}
  void add_counter(Counter counter);
  void add_note(std::string_view text);
  const std::vector<Counter> &counters() const { return counters_; }
  // Starts the counters of the calling thread; the first one has those of the process, too.
  virtual std::unique_ptr<ThreadCounters> open(bool first) = 0;

 private:
  struct State {
    DLDevice device;
    std::vector<uint64_t> begin;  // thread by thread; one that joined later began at 0
  };
  void joined() noexcept override;
  void give(size_t place, const State &state, MetricRows &out);
  double change(size_t place, size_t thread, const State &state, bool &is_good) const;

  const bool per_thread_;
  std::vector<Counter> counters_;
  std::vector<std::string> least_, most_;  // names of columns
  std::mutex guard_;                       // of what workers change
  std::vector<std::unique_ptr<ThreadCounters>> threads_;
  std::string failed_join_;
  std::vector<std::unique_ptr<State>> idle_;
  std::vector<uint64_t> now_;
  std::vector<char> estimated_, went_back_;
  std::string notes_;
  bool watches_ = false;
};

}  // namespace opd
