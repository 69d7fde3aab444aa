// The reason why a call must end early. The canceller sets the flag once, and the call reads it between units of work.
#pragma once
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

}  // namespace opd
