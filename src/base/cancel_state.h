// The base of every cancel token, for layers that make calls but must not include the VM.
#pragma once
#include <opdyno/base.h>

#include <atomic>

#include "base/error.h"

namespace opd {

struct CancelState : Object {
  std::atomic<bool> is_cancelled{false};

  // A token of a binding: calls that meet its request ask the binding whether they are to end.
  std::atomic<bool> is_asked{false};
  opd_error *(*answer)() = nullptr;         // null: the call goes on; else the error that ends it
  uint64_t answering_thread = 0;            // the only thread that may call answer(); see thread_number()
  void (*cancel)(CancelState *) = nullptr;  // CancelToken::cancel(), for layers below vm/

  // Returns the error that ends the call, or null if it goes on. On any other thread the call goes on.
  Ref<Error> ask();
};

}  // namespace opd
