// The base of every cancel token, for layers that make calls but must not include the VM.
#pragma once
#include <atomic>

#include "base/object.h"

namespace opd {

struct CancelState : Object {
  std::atomic<bool> is_cancelled{false};
};

}  // namespace opd
