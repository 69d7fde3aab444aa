// Ending calls from outside: cancel tokens and deadlines both set one flag that a run reads between operators.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/cancel_state.h"
#include "base/cancellation.h"
#include "base/fork_mutex.h"

namespace opd {

struct CancelToken;
struct Instr;
struct Program;

// The fields of a run that other threads read or write.
struct RunSignals {
  CancelFlag stop{CancelReason::kNone};
  std::atomic<const Instr *> current{nullptr};       // the call being made, for messages
  const Program *program = nullptr;                  // owns the instruction that `current` points to
  std::atomic<const char *> operator_name{nullptr};  // the same for compiled code, which has no instructions
  std::atomic<bool> attentive{false};                // calls of compiled code are observed, or bindings are recorded
  CancelToken *token = nullptr;                      // inherited by calls from within the run
  CancelToken *thread_token = nullptr;               // the thread's default token, if `token` is another one
  int64_t deadline_ns = 0;                           // on the monotonic clock; 0: none; inherited likewise
};

// Thread-safe.
struct CancelToken : CancelState {
  CancelToken();
  static int32_t type();  // "opdyno.Cancel"
  void cancel();
  void reset();
  void request();             // asks the answering thread whether its calls are to end
  void add(RunSignals *run);  // stops it at once if the token is cancelled already
  void remove(RunSignals *run);
  const char *current_operator();
  static void set_default(Ref<CancelToken> token);  // of the calling thread; throws inside a call

 private:
  ForkMutex guard_{LockRank::kCancel};
  std::vector<RunSignals *> runs_;
};

// Called when the run's flag is set: returns the error that ends the call, or null if the call goes on. `place` is what
// the error names: "before f", "in f".
Ref<Error> stop_error(RunSignals &run, std::string_view place);

// While it lives, the run stops when the deadline passes. One thread watches all deadlines of the process; it is
// started by the first.
class DeadlineGuard {
 public:
  explicit DeadlineGuard(RunSignals *run);
  ~DeadlineGuard();
  DeadlineGuard(const DeadlineGuard &) = delete;
  DeadlineGuard &operator=(const DeadlineGuard &) = delete;

 private:
  uint64_t ticket_ = 0;
};

// While it lives, the run's tokens may stop the run. The destructor takes their locks, so no thread uses the run
// afterwards.
class CancelGuard {
 public:
  explicit CancelGuard(RunSignals *run) : run_(run) {
    for (CancelToken *token : {run_->token, run_->thread_token})
      if (token) token->add(run_);
  }
  ~CancelGuard() {
    for (CancelToken *token : {run_->token, run_->thread_token})
      if (token) token->remove(run_);
  }
  CancelGuard(const CancelGuard &) = delete;
  CancelGuard &operator=(const CancelGuard &) = delete;

 private:
  RunSignals *run_;
};

}  // namespace opd
