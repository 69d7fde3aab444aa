#include "base/thread_state.h"

namespace opd {

void (*free_workspace)(void *workspace) = nullptr;
constinit thread_local ThreadState current_thread_state __attribute__((tls_model("initial-exec")));

namespace {
struct Cleaner {
  bool armed = false;
  ~Cleaner() {
    ThreadState &state = thread_state();
    if (state.raised) release(std::exchange(state.raised, nullptr));
    if (state.workspace && free_workspace) free_workspace(std::exchange(state.workspace, nullptr));
  }
};
thread_local Cleaner cleaner;
}  // namespace

void clean_at_thread_exit() { cleaner.armed = true; }

}  // namespace opd
