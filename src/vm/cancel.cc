#include "vm/cancel.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <thread>

#include "base/thread_state.h"
#include "value/value.h"
#include "vm/run.h"

namespace opd {
namespace {

using Clock = std::chrono::steady_clock;

// Compiled code does not read the flag between kernels, so its calls must be observed from now on. A request must not
// overwrite a reason that ends the call.
void interrupt(RunSignals &signals, CancelReason reason) noexcept {
  auto none = CancelReason::kNone;
  if (reason == CancelReason::kAsked) signals.stop.compare_exchange_strong(none, reason);
  else signals.stop.store(reason);
  static_cast<Run &>(signals).observe_calls();
}

// Never destroyed: its thread may outlive static destructors. A forked child makes its own, because threads are not
// inherited.
class DeadlineWatch {
 public:
  static DeadlineWatch &instance() {
    static std::atomic<DeadlineWatch *> current{nullptr};
    DeadlineWatch *watch = current.load(std::memory_order_acquire);
    while (!watch || watch->owner_ != getpid()) {
      auto *fresh = new DeadlineWatch;
      if (current.compare_exchange_strong(watch, fresh)) return *fresh;
      delete fresh;
    }
    return *watch;
  }

  uint64_t add(RunSignals *run, Clock::time_point when) {
    std::scoped_lock lock(guard_);
    if (!started_) {
      std::thread([this] { watch(); }).detach();
      started_ = true;
    }
    const uint64_t ticket = ++last_ticket_;
    deadlines_.emplace(ticket, Deadline{when, run});
    changed_.notify_one();
    return ticket;
  }

  void remove(uint64_t ticket) {
    std::scoped_lock lock(guard_);
    deadlines_.erase(ticket);
  }

 private:
  struct Deadline {
    Clock::time_point when;
    RunSignals *run;
  };

  void watch() {
    std::unique_lock lock(guard_);
    for (;;) {
      const auto now = Clock::now();
      auto next = Clock::time_point::max();
      std::erase_if(deadlines_, [&](const auto &entry) {
        if (entry.second.when > now) return next = std::min(next, entry.second.when), false;
        interrupt(*entry.second.run, CancelReason::kDeadline);
        return true;
      });
      if (next == Clock::time_point::max()) changed_.wait(lock);
      else changed_.wait_until(lock, next);
    }
  }

  const pid_t owner_ = getpid();
  std::mutex guard_;
  std::condition_variable changed_;
  std::map<uint64_t, Deadline> deadlines_;
  uint64_t last_ticket_ = 0;
  bool started_ = false;
};

}  // namespace

CancelToken::CancelToken() {
  CancelState::cancel = [](CancelState *self) { static_cast<CancelToken *>(self)->cancel(); };
}

void CancelToken::cancel() {
  std::scoped_lock lock(guard_);
  is_cancelled = true;
  for (RunSignals *run : runs_) interrupt(*run, CancelReason::kCancelled);
}

void CancelToken::reset() {
  std::scoped_lock lock(guard_);
  is_cancelled = false;
}

void CancelToken::request() {
  std::scoped_lock lock(guard_);
  is_asked = true;
  for (RunSignals *run : runs_) interrupt(*run, CancelReason::kAsked);
}

void CancelToken::add(RunSignals *run) {
  std::scoped_lock lock(guard_);
  runs_.push_back(run);
  if (is_cancelled) interrupt(*run, CancelReason::kCancelled);
  else if (is_asked) interrupt(*run, CancelReason::kAsked);
}

void CancelToken::remove(RunSignals *run) {
  std::scoped_lock lock(guard_);
  std::erase(runs_, run);
}

const char *CancelToken::current_operator() {
  std::scoped_lock lock(guard_);
  for (RunSignals *run : runs_) {
    static_cast<Run *>(run)->observe_calls();  // from now on, compiled code names its operators
    if (const char *name = run->operator_name.load(std::memory_order_relaxed)) return name;
    else if (const Instr *instr = run->current.load(std::memory_order_relaxed))
      return run->program->callee_name(run->program->pc_of(instr)).c_str();
  }
  return nullptr;
}

void CancelToken::set_default(Ref<CancelToken> token) {
  ThreadState &state = thread_state();
  if (state.run_pool)
    fail(OPD_FAILED_PRECONDITION, "the thread's cancel token cannot be changed inside of a call, which uses it");
  clean_at_thread_exit();
  if (Object *before = std::exchange(state.cancel, token.detach())) release(before);
}

Ref<Error> stop_error(RunSignals &run, std::string_view place) {
  CancelReason reason = run.stop.load();
  if (reason == CancelReason::kAsked && run.stop.compare_exchange_strong(reason, CancelReason::kNone)) {
    Ref<Error> answer = run.token->ask();
    if (!answer && run.thread_token) answer = run.thread_token->ask();
    if (!answer) return nullptr;
    auto error = make_error(answer->code, concat(answer->message.empty() ? answer->kind : answer->message, " ", place),
                            answer->kind);
    error->set_cause(std::move(answer));
    return error;
  }
  return make_cancel_error(reason, place);
}

void throw_if_stopped(RunSignals &run, std::string_view place) {
  Ref<Error> error = stop_error(run, place);
  if (!error) return;
  error->located = true;
  throw Exception(std::move(error));
}

DeadlineGuard::DeadlineGuard(RunSignals *run) {
  if (!run->deadline_ns) return;
  const Clock::time_point when(std::chrono::nanoseconds(run->deadline_ns));
  if (when <= Clock::now()) interrupt(*run, CancelReason::kDeadline);  // a short call could end before the thread wakes
  else ticket_ = DeadlineWatch::instance().add(run, when);
}

DeadlineGuard::~DeadlineGuard() {
  if (ticket_) DeadlineWatch::instance().remove(ticket_);
}

}  // namespace opd
