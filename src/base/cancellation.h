// The reason to end a call early. The canceller sets the flag once; the call reads it between units of work.
#pragma once
#include <atomic>

#include "base/error.h"

namespace opd {

enum class CancelReason : uint32_t { kNone = 0, kCancelled = 1, kDeadline = 2 };
using CancelFlag = std::atomic<CancelReason>;

// The message is "the call was cancelled before f" or "the deadline passed before f".
inline Ref<Error> make_cancel_error(CancelReason reason, std::string_view before) {
  const bool cancelled = reason == CancelReason::kCancelled;
  return make_error(cancelled ? OPD_CANCELLED : OPD_DEADLINE_EXCEEDED,
                    concat(cancelled ? "the call was cancelled before " : "the deadline passed before ", before));
}

}  // namespace opd
