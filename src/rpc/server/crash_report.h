// If the process of a session crashes or is killed by SIGTERM, its client gets the name of the operator that ran. A
// handler of these signals answers the open request, which would otherwise never be answered. Then it lets the signal
// kill the process. SIGKILL cannot be handled, so other processes regularly ask this one to note the operator.
#pragma once
#include <pthread.h>

#include <array>
#include <atomic>
#include <csignal>
#include <memory>

#include "base/thread_state.h"
#include "rpc/wire/frames.h"
#include "rpc/wire/progress.h"

namespace opd::rpc {

class CrashReport {
 public:
  // Called by the thread that serves the session. Throws OPD_FAILED_PRECONDITION if the process has one already.
  CrashReport(const Frames &frames, bool is_wanted, const Progress &progress);
  ~CrashReport();
  CrashReport(const CrashReport &) = delete;

  // enter() and leave() surround the handling of a request. Nothing else is written to the client in between. If a
  // handler writes, leave() does not return.
  void enter() noexcept {
    progress_.note_operator("");
    is_amid_request_.store(true, std::memory_order_relaxed);
  }
  void leave() noexcept {
    if (!is_amid_request_.exchange(false)) [[unlikely]]
      wait_for_the_end();
  }

 private:
  static constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU, SIGTERM, SIGURG};

  static void handle(int signal, siginfo_t *info, void *);
  void note_operator() const noexcept;
  void tell(const siginfo_t &what) noexcept;
  const char *running_operator() const noexcept;  // null: not known
  [[noreturn]] static void wait_for_the_end() noexcept;
  void use_own_stack();

  static std::atomic<CrashReport *> reporting_;

  const Frames &frames_;
  const bool is_wanted_;
  const Progress progress_;
  const ThreadState &serving_;  // state of the serving thread
  const pthread_t serving_thread_;
  const uint64_t cpu_limit_;  // s
  std::atomic<bool> is_amid_request_{false};
  std::array<bool, kSignals.size()> is_handled_{};
  std::unique_ptr<char[]> stack_;  // for handlers after a stack overflow; null: the thread has one already
};

}  // namespace opd::rpc
