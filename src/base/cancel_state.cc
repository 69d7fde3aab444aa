// CancelState::ask(): asks the binding whether a call ends.
#include "base/thread_state.h"

namespace opd {

// The request is cleared before it is answered, so a request that comes during the answer is answered, too.
Ref<Error> CancelState::ask() {
  if (!is_asked.load() || thread_number() != answering_thread) return nullptr;
  is_asked = false;
  return Ref<Error>::take(reinterpret_cast<Error *>(answer()));
}

}  // namespace opd
