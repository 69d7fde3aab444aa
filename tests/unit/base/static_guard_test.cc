// Static variables of functions, whose first use fork() may meet: the guards of base/static_guard.cc, which the
// compiler calls.
#include "base/static_guard.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace opd {
namespace {

std::atomic<int> runs{0};
std::atomic<bool> waits{false};

int begin_run() {
  const int run = ++runs;
  while (waits) usleep(100);
  return run;
}

// Each test has a variable of its own: the number of the run that initialised it.
template <int kTest>
int initialising_run() {
  static const int run = begin_run();
  return run;
}

int initialised_unless_refused(bool refused) {
  static const int run = refused ? throw 7 : begin_run();
  return run;
}

void wait_until_initialising() {
  while (runs == 0) usleep(100);
}

class AStaticVariable : public testing::Test {
 protected:
  void SetUp() override { runs = 0, waits = false; }
};

TEST_F(AStaticVariable, IsInitialisedOnceByManyThreads) {
  waits = true;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { EXPECT_EQ(initialising_run<1>(), 1); });
  wait_until_initialising();
  usleep(10'000);  // time for the others to arrive; if they come later, less is tested, and nothing fails
  waits = false;
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(runs, 1);
}

TEST_F(AStaticVariable, IsInitialisedByTheNextUseIfAnInitialiserThrows) {
  EXPECT_THROW(initialised_unless_refused(true), int);
  EXPECT_THROW(initialised_unless_refused(true), int);
  EXPECT_EQ(initialised_unless_refused(false), 1);
  EXPECT_EQ(initialised_unless_refused(true), 1);
}

#if !defined(OPDYNO_ADDRESS_SANITIZER) && !defined(OPDYNO_THREAD_SANITIZER)  // whose own locks stay locked in a child
TEST_F(AStaticVariable, IsInitialisedAgainInAChildIfAnotherThreadWasInitialisingIt) {
  waits = true;
  std::thread first([] { EXPECT_EQ(initialising_run<2>(), 1); });
  wait_until_initialising();
  const uint32_t generation = fork_generation();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    waits = false;
    const bool right = initialising_run<2>() == 2 && initialising_run<2>() == 2 && fork_generation() == generation + 1;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fork_generation(), generation);
  waits = false;
  first.join();
  EXPECT_EQ(initialising_run<2>(), 1);
}
#endif

}  // namespace
}  // namespace opd
