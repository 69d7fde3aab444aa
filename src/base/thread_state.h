// What hot paths need per thread, in one small block at a fixed offset from the thread pointer.
#pragma once
#include "base/cancellation.h"
#include "base/object.h"

namespace opd {

struct ThreadState {
  Object *raised = nullptr;          // the error that a packed function left for its caller; owned
  void *run_pool = nullptr;          // the VM frame pool whose objects this thread may reuse without atomics
  void *workspace = nullptr;         // scratch memory of kernels; owned by device/
  const CancelFlag *stop = nullptr;  // of the call that this thread makes, if it can be ended from outside
  Object *cancel = nullptr;          // the token of the calls that this thread makes, should they have no other; owned
  int32_t parallel_depth = 0;        // > 0 inside a parallel region: further launches run serially
  void *task_observer = nullptr;     // who counts the parallel tasks that this thread launches; device/ knows it
  uint64_t number = 0;               // see thread_number()
};

// Trivial and constant-initialised, so an access is one add to the thread pointer. The initial-exec model draws on
// glibc's static TLS surplus: keep the block small.
extern constinit thread_local ThreadState current_thread_state __attribute__((tls_model("initial-exec")));

inline ThreadState &thread_state() { return current_thread_state; }

// Of the calling thread, from 1 on: unlike the system's numbers it never comes to be another thread's.
uint64_t thread_number() noexcept;

// To be called by whoever stores something owned into the block: ends it when the thread exits.
void clean_at_thread_exit() noexcept;

// Set by device/, which base does not know: ends the scratch memory of an exiting thread.
extern void (*free_workspace)(void *workspace);

}  // namespace opd
