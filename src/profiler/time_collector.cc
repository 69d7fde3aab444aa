// Collects wall time, and the processor time of all threads of a call.
#include <time.h>

#include "profiler/counter_collector.h"

namespace opd {
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
