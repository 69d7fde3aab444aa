// What every cancel token begins with, for layers that make calls but do not know the VM.
#pragma once
#include <atomic>

#include "base/object.h"

namespace opd {

struct CancelState : Object {
  std::atomic<bool> is_cancelled{false};
};

}  // namespace opd
