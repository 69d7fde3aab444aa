// The signals that ask for dumps: which ones may, and what becomes of their handlers.
#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "base/error.h"
#include "trace/record/alarm.h"

namespace opd {
namespace {

std::string signal_refusal(int signal) {
  try {
    check_alarm_signal(signal);
  } catch (const Exception &e) { return e.error()->message; }
  return "";
}

// POSIX: SIGKILL and SIGSTOP have no handlers, and the others are those that a processor or abort() raises.
TEST(AnAlarmSignal, CannotBeAFaultSignalKillOrStop) {
  const std::set<int> refused{SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  for (int signal = 1; signal <= 31; ++signal)
    EXPECT_EQ(signal_refusal(signal).empty(), !refused.contains(signal)) << "signal " << signal;
  for (const int signal : {SIGRTMIN, SIGRTMIN + 1, SIGRTMAX}) EXPECT_EQ(signal_refusal(signal), "");
  for (const int signal : {-1, 0, 32, SIGRTMIN - 1, SIGRTMAX + 1, 1000})
    EXPECT_EQ(
        signal_refusal(signal),
        concat("signal ", signal, " cannot ask for a dump: choose one such as SIGUSR2, after which a program goes on"));
}

struct sigaction action_of(int signal) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action;
}

class AHandler : public testing::Test {
 protected:
  ~AHandler() override { ::signal(kSignal, SIG_DFL); }
  static constexpr int kSignal = SIGUSR1;
};

TEST_F(AHandler, StaysAsLongAsAnyoneNeedsIt) {
  for (const auto before : {SIG_DFL, SIG_IGN}) {
    ::signal(kSignal, before);
    {
      const AlarmSignal first(kSignal);
      const auto handler = action_of(kSignal).sa_handler;
      EXPECT_NE(handler, before);
      EXPECT_EQ(action_of(kSignal).sa_flags & (SA_RESTART | SA_ONSTACK | SA_SIGINFO), SA_RESTART | SA_ONSTACK)
          << "system calls of the program go on, and a small stack of a thread is not used";
      { const AlarmSignal second(kSignal); }
      EXPECT_EQ(action_of(kSignal).sa_handler, handler);
      ::raise(kSignal);
    }
    EXPECT_EQ(action_of(kSignal).sa_handler, before);
  }
  { const AlarmSignal none(0); }
}

TEST_F(AHandler, IsNotTakenFromTheProgram) {
  const auto message = [] {
    try {
      const AlarmSignal refused(kSignal);
    } catch (const Exception &e) { return e.error()->message; }
    return std::string();
  };
  const std::string expected =
      concat("signal ", kSignal, " is handled by the program already; choose another one for dumps");
  ::signal(kSignal, [](int) {});
  EXPECT_EQ(message(), expected);
  struct sigaction action {};
  action.sa_sigaction = [](int, siginfo_t *, void *) {};
  action.sa_flags = SA_SIGINFO;
  ::sigaction(kSignal, &action, nullptr);
  EXPECT_EQ(message(), expected) << "also one of three arguments";
  ::signal(kSignal, SIG_DFL);
  EXPECT_EQ(message(), "");
}

TEST_F(AHandler, StaysIfTheProgramSetsItLater) {
  struct sigaction own {};
  own.sa_sigaction = [](int, siginfo_t *, void *) {};
  own.sa_flags = SA_SIGINFO;
  {
    const AlarmSignal alarm(kSignal);
    ::sigaction(kSignal, &own, nullptr);
  }
  EXPECT_EQ(action_of(kSignal).sa_sigaction, own.sa_sigaction);
}

}  // namespace
}  // namespace opd
