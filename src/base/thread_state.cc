#include "base/thread_state.h"

#include <pthread.h>

#include <atomic>

#include "base/error.h"

namespace opd {

void (*free_workspace)(void *workspace) = nullptr;
constinit thread_local ThreadState current_thread_state __attribute__((tls_model("initial-exec")));

namespace {

void clean(void *) {
  ThreadState &state = thread_state();
  if (state.raised) release(std::exchange(state.raised, nullptr));
  if (state.cancel) release(std::exchange(state.cancel, nullptr));
  if (state.workspace && free_workspace) free_workspace(std::exchange(state.workspace, nullptr));
}

// Not a thread_local object with a destructor: to register that one, glibc allocates, and without memory it aborts the
// process. This is needed just when an error is raised because there is no memory.
const pthread_key_t exit_key = [] {
  pthread_key_t key;
  return pthread_key_create(&key, &clean) ? pthread_key_t(-1) : key;
}();

}  // namespace

uint64_t thread_number() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  uint64_t &number = thread_state().number;
  if (!number) number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

// If there is no memory for it (an early key needs none), the thread's block is not freed when it exits.
void clean_at_thread_exit() noexcept { pthread_setspecific(exit_key, &exit_key); }

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
