// The reason why a call must end early. The canceller sets the flag once, and the call reads it between units of work.
// Also the base of every cancel token, for layers that make calls but must not include the VM.
#pragma once
#include <opdyno/base.h>

#include <atomic>

#include "base/error.h"

namespace opd {

enum class CancelReason : uint32_t {
  kNone = 0,
  kCancelled = 1,
  kDeadline = 2,
  kAsked = 3,  // CancelState::ask() decides whether the call ends
};
using CancelFlag = std::atomic<CancelReason>;

inline bool ends_call(CancelReason reason) {
  return reason == CancelReason::kCancelled || reason == CancelReason::kDeadline;
}

// `place` ends the message: "the call was cancelled before f", "the deadline passed in f".
inline Ref<Error> make_cancel_error(CancelReason reason, std::string_view place) {
  const bool cancelled = reason == CancelReason::kCancelled;
  return make_error(cancelled ? OPD_CANCELLED : OPD_DEADLINE_EXCEEDED,
                    concat(cancelled ? "the call was cancelled " : "the deadline passed ", place));
}

struct CancelState : Object {
  std::atomic<bool> is_cancelled{false};

  // A binding sets this in its token: calls that see it ask the binding whether they shall end.
  std::atomic<bool> is_asked{false};
  opd_error *(*answer)() = nullptr;         // null: the call goes on; else the error that ends it
  uint64_t answering_thread = 0;            // the only thread that may call answer(); see thread_number()
  void (*cancel)(CancelState *) = nullptr;  // CancelToken::cancel(), for layers below vm/

  // Returns the error that ends the call, or null if it goes on. On threads other than `answering_thread`, the call
  // goes on.
  Ref<Error> ask();
};

}  // namespace opd
