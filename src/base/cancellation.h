// Why a call is to end before its time. Whoever ends it sets the flag once; the call reads it between units of work.
#pragma once
#include <atomic>

#include "base/error.h"

namespace opd {

enum class CancelReason : uint32_t { kNone = 0, kCancelled = 1, kDeadline = 2 };
using CancelFlag = std::atomic<CancelReason>;

// "the call was cancelled before f", or that the deadline passed.
inline Ref<Error> make_cancel_error(CancelReason reason, std::string_view before) {
  const bool cancelled = reason == CancelReason::kCancelled;
  return make_error(cancelled ? OPD_CANCELLED : OPD_DEADLINE_EXCEEDED,
                    concat(cancelled ? "the call was cancelled before " : "the deadline passed before ", before));
}

}  // namespace opd
