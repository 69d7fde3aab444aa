// Signals of the program: which reach the library's own threads, and whose handlers stay when a driver sets others.
#include "base/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <iterator>

namespace opd {
namespace {

TEST(ALibraryThread, GetsNoSignalsButItsOwnFaults) {
  sigset_t seen;
  const auto body = [](void *given) -> void * {
    pthread_sigmask(SIG_BLOCK, nullptr, static_cast<sigset_t *>(given));
    return given;
  };
  sigset_t before, after, own;
  sigemptyset(&own), sigaddset(&own, SIGUSR2);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &own, &before), 0);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &own), 0);
  pthread_t thread{};
  ASSERT_TRUE(start_library_thread("opdyno-test", body, &seen, thread));
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
  void *result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, &seen);
  constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigismember(&after, signal), sigismember(&own, signal)) << "the starting thread's, " << signal;
    if (signal == SIGKILL || signal == SIGSTOP) continue;  // nothing blocks these
    const bool is_fault = std::find(std::begin(kFaults), std::end(kFaults), signal) != std::end(kFaults);
    EXPECT_EQ(sigismember(&seen, signal), !is_fault) << signal;
  }
}

void mine(int) {}
void drivers(int) {}
void drivers_with_info(int, siginfo_t *, void *) {}

struct sigaction handler_of(int signal) {
  struct sigaction now {};
  EXPECT_EQ(sigaction(signal, nullptr, &now), 0);
  return now;
}
void set_handler(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  EXPECT_EQ(sigaction(signal, &action, nullptr), 0);
}

class SignalHandlers : public testing::Test {
 protected:
  static constexpr int kChanged[] = {SIGHUP, SIGINT, SIGFPE, SIGUSR1, SIGUSR2, SIGTERM};
  void SetUp() override {
    for (size_t i = 0; i < std::size(kChanged); ++i) before_[i] = handler_of(kChanged[i]);
  }
  void TearDown() override {
    for (size_t i = 0; i < std::size(kChanged); ++i) sigaction(kChanged[i], &before_[i], nullptr);
  }
  struct sigaction before_[std::size(kChanged)];
};

TEST_F(SignalHandlers, AreKeptWhileADriverSetsItsOwn) {
  set_handler(SIGINT, mine);
  set_handler(SIGHUP, mine, SA_RESTART);
  set_handler(SIGTERM, SIG_IGN);
  set_handler(SIGUSR1, SIG_DFL);
  {
    const KeptSignalHandlers kept;
    set_handler(SIGINT, drivers);
    set_handler(SIGHUP, mine, SA_NODEFER);
    set_handler(SIGTERM, SIG_DFL);
    struct sigaction action {};
    action.sa_sigaction = drivers_with_info;
    action.sa_flags = SA_SIGINFO;
    EXPECT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  }
  EXPECT_EQ(handler_of(SIGINT).sa_handler, mine);
  EXPECT_EQ(handler_of(SIGHUP).sa_flags & (SA_RESTART | SA_NODEFER), SA_RESTART);
  EXPECT_EQ(handler_of(SIGTERM).sa_handler, SIG_IGN);
  EXPECT_EQ(handler_of(SIGUSR1).sa_handler, SIG_DFL);
  EXPECT_FALSE(handler_of(SIGUSR1).sa_flags & SA_SIGINFO);
}

// Kernels may divide by 0, and drivers make their handler do nothing.
TEST_F(SignalHandlers, KeepADriversSigfpeHandlerIfThereIsNoOther) {
  set_handler(SIGFPE, SIG_DFL);
  {
    const KeptSignalHandlers kept;
    set_handler(SIGFPE, drivers);
  }
  EXPECT_EQ(handler_of(SIGFPE).sa_handler, drivers);
  for (void (*const own)(int) : {mine, SIG_IGN}) {
    set_handler(SIGFPE, own);
    {
      const KeptSignalHandlers kept;
      set_handler(SIGFPE, drivers);
    }
    EXPECT_EQ(handler_of(SIGFPE).sa_handler, own);
  }
  struct sigaction with_info {};
  with_info.sa_sigaction = drivers_with_info;
  with_info.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGFPE, &with_info, nullptr), 0);
  {
    const KeptSignalHandlers kept;
    set_handler(SIGFPE, drivers);
  }
  EXPECT_EQ(handler_of(SIGFPE).sa_sigaction, drivers_with_info);
}

}  // namespace
}  // namespace opd
