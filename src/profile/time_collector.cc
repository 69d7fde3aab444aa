// Time of the wall, and of the processors over all threads of a call.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/counter_collector.h"

namespace opd {
namespace {

class ThreadTime final : public ThreadCounters {
 public:
  explicit ThreadTime(bool first) : first_(first) {
    // The clock of a thread by its number, as the kernel's headers make it: readable from every thread.
    clock_ = static_cast<clockid_t>((~static_cast<uint32_t>(syscall(SYS_gettid)) << 3) | 6);
    begin_ = now();
  }
  void read(uint64_t *values) override {
    values[0] = first_ ? monotonic_ns() : 0;
    values[1] = now() - begin_;
  }

 private:
  uint64_t now() const {
    timespec time{};
    if (clock_gettime(clock_, &time)) fail(OPD_UNSUPPORTED, "the system has no clock of one thread");
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
  }
  const bool first_;
  clockid_t clock_;
  uint64_t begin_;
};

class TimeCollector final : public CounterCollector {
 public:
  explicit TimeCollector(bool per_thread) : CounterCollector("time", per_thread) {
    Counter wall{"Wall time (us)", OPD_METRIC_DURATION, 1e-3}, cpu{"CPU time (us)", OPD_METRIC_DURATION, 1e-3};
    wall.per_thread = false;
    add_counter(std::move(wall));
    add_counter(std::move(cpu));
  }

 private:
  std::unique_ptr<ThreadCounters> open(bool first) override { return std::make_unique<ThreadTime>(first); }
};

}  // namespace

Ref<Collector> make_time_collector(const CounterWishes &wishes) {
  require(wishes.events.empty(), "the time collector has no events to choose from");
  return make_object<TimeCollector>(wishes.per_thread);
}

}  // namespace opd
