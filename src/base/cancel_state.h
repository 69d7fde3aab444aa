// The base of every cancel token, for layers that make calls but must not include the VM.
#pragma once
#include <opdyno/base.h>

#include <atomic>

#include "base/error.h"

namespace opd {

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
