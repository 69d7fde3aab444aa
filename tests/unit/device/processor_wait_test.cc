// Waits for a processor, with two threads on one processor.
#include "device/cpu/processor_wait.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "base/clock.h"

namespace opd {
namespace {

void spin_ns(uint64_t ns) {
  for (const uint64_t end = monotonic_ns() + ns; monotonic_ns() < end;) {}
}

void stay_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

TEST(ProcessorWait, IsTheTimeThatAnotherThreadTook) {
  // A thread of its own, so that its set of processors ends with it.
  std::thread([] {
    const int here = sched_getcpu();
    stay_on(here);
    ProcessorWait wait;
    if (!wait.is_known()) GTEST_SKIP() << "this system does not count waits";
    std::atomic<bool> ends{false};
    std::thread other([&] {
      stay_on(here);
      while (!ends) spin_ns(1000);
    });
    uint64_t waited = 0, ran = 0;
    const uint64_t begin = monotonic_ns();
    while (waited == 0 && monotonic_ns() - begin < 60 * uint64_t{1'000'000'000}) {
      spin_ns(20'000'000);
      const ProcessorWait::Times times = wait.read();
      waited += times.waited_ns, ran += times.ran_ns;
    }
    const uint64_t passed = monotonic_ns() - begin;
    ends = true;
    other.join();
    EXPECT_GT(waited, 0u);
    EXPECT_GT(ran, 0u);
    EXPECT_LE(waited + ran, passed + 50'000'000) << "the system reads its clocks at different moments";
  }).join();
}

TEST(ProcessorWait, DoesNotCountSleep) {
  ProcessorWait wait;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(wait.read().ran_ns, 50'000'000u);
}

}  // namespace
}  // namespace opd
