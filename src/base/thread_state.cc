#include "base/thread_state.h"

#include <atomic>

#include "base/error.h"

namespace opd {

void (*free_workspace)(void *workspace) = nullptr;
constinit thread_local ThreadState current_thread_state __attribute__((tls_model("initial-exec")));

namespace {
struct Cleaner {
  bool armed = false;
  ~Cleaner() {
    ThreadState &state = thread_state();
    if (state.raised) release(std::exchange(state.raised, nullptr));
    if (state.cancel) release(std::exchange(state.cancel, nullptr));
    if (state.workspace && free_workspace) free_workspace(std::exchange(state.workspace, nullptr));
  }
};
thread_local Cleaner cleaner;
}  // namespace

uint64_t thread_number() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  uint64_t &number = thread_state().number;
  if (!number) number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

void clean_at_thread_exit() { cleaner.armed = true; }

void set_raised(Ref<Error> error) noexcept {
  clean_at_thread_exit();
  Object *before = std::exchange(thread_state().raised, error.detach());
  if (before) release(before);
}

Ref<Error> take_raised() noexcept {
  const auto error = Ref<Error>::take(static_cast<Error *>(std::exchange(thread_state().raised, nullptr)));
  return error ? as_own(*error) : make_error(OPD_CALL_FAILED, "the function failed without saying why");
}

}  // namespace opd
