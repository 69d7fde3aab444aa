// Extends counters of single threads to whole calls: the calling thread, plus every worker while it runs tasks of the
// call. The pool is not restricted and may serve other calls. Cost of a start and of a stop: one read of the calling
// thread's counters. A worker reads its own counters around each task.
#pragma once
#include <map>
#include <memory>

#include "base/fork_mutex.h"
#include "device/cpu/worker_set.h"
#include "profiler/collector.h"

namespace opd {

struct Counter {
  enum class Of { kThread, kCall, kProcess };
  std::string name;  // name of the column
  opd_metric_kind kind = OPD_METRIC_COUNT;
  double scale = 1;             // durations: factor to microseconds
  DLDevice device{kDLCPU, -1};  // counts only during calls on this device; id -1: any device of the kind
  Of of = Of::kThread;          // kProcess includes other calls
  uint64_t range = 0;           // the counter wraps at this value; 0: at 2^64
};

// Some of the counters, running since the reader was made. Any thread may destroy it. If counters are not per thread,
// several threads use their reader concurrently.
class CounterReader {
 public:
  virtual ~CounterReader() = default;
  virtual void read(uint64_t *values) = 0;                   // writes the values of its own counters; throws
  virtual bool is_estimated(size_t) const { return false; }  // scaled from a part of the time
};

class CounterCollector : public Collector, private WorkerObserver {
 public:
  ~CounterCollector() override;

  void init(std::span<const DLDevice> devices) override;
  void *start(DLDevice device) override;
  void stop(void *state, MetricList &out) override;
  void finish() noexcept override;
  std::string note() override;
  std::string shared() override;

 protected:
  CounterCollector(std::string name, bool per_thread);
  void add_counter(Counter counter);
  void add_note(std::string_view text);
  const std::vector<Counter> &counters() const { return counters_; }
  // Starts the counters of the calling thread, which alone reads them. open_rest() starts all other counters; null:
  // none.
  virtual std::unique_ptr<CounterReader> open_thread() = 0;
  virtual std::unique_ptr<CounterReader> open_rest() { return nullptr; }

 private:
  class Thread;
  struct State;
  void joined() noexcept override;
  Thread *find_thread();
  Thread &thread_here();
  void read_rest(const Thread &thread, std::vector<uint64_t> &values);
  bool counts_on(const Counter &counter, DLDevice device) const;
  void give(size_t place, const State &state, const std::vector<uint64_t> &now, MetricList &out);
  double change(size_t at, const State &state, const std::vector<uint64_t> &now, bool &is_good) const;
  std::string names_of(const std::vector<char> &marks, std::string_view what) const;

  const bool per_thread_;
  std::vector<Counter> counters_;
  std::vector<std::string> least_, most_;  // names of columns
  std::unique_ptr<CounterReader> rest_;
  std::atomic<size_t> num_workers_{0};
  uint64_t recording_ = 0;                               // a unique id
  ForkMutex guard_{LockRank::kCounterCollector};         // guards the members below
  std::map<uint64_t, std::unique_ptr<Thread>> threads_;  // key: thread_number()
  std::string failed_join_;
  std::vector<char> estimated_, went_back_;
  std::string notes_;
  bool watches_ = false;
};

// Texts that explain why a counter cannot be used, and that name a remedy. perf_hint(): for an errno of
// perf_event_open(2).
std::string perf_hint(int error);
std::string paranoia_text();  // "/proc/sys/kernel/perf_event_paranoid is 2"

}  // namespace opd
