// Cancellation of calls: cancel tokens and deadlines both set one flag, which a run reads between operators.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/cancellation.h"
#include "base/fork_mutex.h"
#include "value/value.h"

namespace opd {

struct CancelToken;
struct Instr;
struct Program;

// The fields of a run that other threads read or write.
struct RunSignals {
  CancelFlag stop{CancelReason::kNone};
  std::atomic<const Instr *> current{nullptr};       // the current call, for messages
  const Program *program = nullptr;                  // owns the instruction that `current` points to
  std::atomic<const char *> operator_name{nullptr};  // the current operator of compiled code, which has no instructions
  std::atomic<bool> attentive{false};                // calls of compiled code are observed, or bindings are recorded
  CancelToken *token = nullptr;                      // also used by calls from within the run
  CancelToken *thread_token = nullptr;               // the thread's default token, unless it is `token`
  int64_t deadline_ns = 0;  // on the monotonic clock; 0: none; also used by calls from within the run
};

// Thread-safe.
struct CancelToken : CancelState {
  CancelToken();
  static int32_t type() { return registered_type<"opdyno.Cancel">(); }
  void cancel();
  void reset();
  void request();             // asks the answering thread whether its calls shall end
  void add(RunSignals *run);  // if the token is already cancelled, the run stops at once
  void remove(RunSignals *run);
  const char *current_operator();
  static void set_default(Ref<CancelToken> token);  // sets the default of the calling thread; throws inside a call

 private:
  ForkMutex guard_{LockRank::kCancel};
  std::vector<RunSignals *> runs_;
};

// Call it if the run's flag is set. Returns the error that ends the call, or null if the call goes on. The error begins
// with `place`, such as "before f" or "in f".
Ref<Error> stop_error(RunSignals &run, std::string_view place);
// Throws that error, which then counts as one that names its place.
void throw_if_stopped(RunSignals &run, std::string_view place);

// Stops the run when the deadline passes, as long as the guard lives. One thread watches all deadlines of the process.
// The first deadline starts it.
class DeadlineGuard {
 public:
  explicit DeadlineGuard(RunSignals *run);
  ~DeadlineGuard();
  DeadlineGuard(const DeadlineGuard &) = delete;
  DeadlineGuard &operator=(const DeadlineGuard &) = delete;

 private:
  uint64_t ticket_ = 0;
};

// Lets the run's tokens stop the run, as long as the guard lives. The destructor takes their locks, so no thread uses
// the run afterwards.
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
