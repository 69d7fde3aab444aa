// If the process of a session crashes, its client gets the name of the operator that ran. A handler of the fatal
// signals writes the answer to the open request, which would otherwise never be answered. Then it lets the signal end
// the process.
#pragma once
#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <string_view>

#include "base/thread_state.h"
#include "rpc/frames.h"
#include "rpc/progress.h"

namespace opd::rpc {

// The prefix of such answers. Clients take them for the end of the session.
inline constexpr std::string_view kCrashAnswer = "ConnectionError: the session's process was ended by ";

class CrashReport {
 public:
  // To be made by the thread that serves the session. Throws OPD_FAILED_PRECONDITION if the process has one already.
  CrashReport(const Frames &frames, bool is_wanted, const Progress &progress);
  ~CrashReport();
  CrashReport(const CrashReport &) = delete;

  // Around what answers a request: within it, nothing else is written to the client. If a handler writes, leave() does
  // not return.
  void enter() noexcept { is_amid_request_.store(true, std::memory_order_relaxed); }
  void leave() noexcept {
    if (!is_amid_request_.exchange(false)) [[unlikely]]
      wait_for_the_end();
  }

 private:
  static constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU};

  static void handle(int signal);
  void tell(int signal) noexcept;
  const char *running_operator() const noexcept;  // null: not known
  [[noreturn]] static void wait_for_the_end() noexcept;
  void use_own_stack();

  static std::atomic<CrashReport *> reporting_;

  const Frames &frames_;
  const bool is_wanted_;
  const Progress progress_;
  const ThreadState &serving_;  // of the thread that serves
  std::atomic<bool> is_amid_request_{false};
  std::array<bool, kSignals.size()> is_handled_{};
  std::unique_ptr<char[]> stack_;  // for handlers after the thread's own has overflowed; null: it has one
};

}  // namespace opd::rpc
