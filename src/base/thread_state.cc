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

// The key's destructor cleans the block when a thread exits. A thread_local object could not do that: glibc allocates
// memory to register its destructor, and aborts the process if there is none. But errors are raised just when memory is
// short.
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

namespace {
constinit std::atomic<uint64_t> survivor{0};
[[gnu::constructor]] void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] { survivor.store(thread_number(), std::memory_order_relaxed); });
}
}  // namespace

uint64_t fork_survivor() noexcept { return survivor.load(std::memory_order_relaxed); }

// If pthread_setspecific() has no memory (early keys need none), the block's objects leak when the thread exits.
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
