// Per-thread data of hot paths, in one small block at a fixed offset from the thread pointer. Also numbers of threads.
#pragma once
#include "base/cancellation.h"
#include "base/object.h"

namespace opd {

struct MemoryRange {
  uintptr_t begin = 0, bytes = 0;
  bool has(uintptr_t address) const { return address - begin < bytes; }
};

struct ThreadState {
  Object *raised = nullptr;          // the error that a packed function left for its caller; owned
  void *run_pool = nullptr;          // the VM frame pool whose objects this thread may reuse without atomics
  void *workspace = nullptr;         // scratch memory of kernels; owned by device/
  MemoryRange lists;                 // memory that the running compiled VM function may read; empty if none runs
  const CancelFlag *stop = nullptr;  // cancel flag of the current call; null if it has none
  Object *cancel = nullptr;          // the thread's default cancel token; owned
  int32_t parallel_depth = 0;        // > 0 inside a parallel region: further launches run serially
  int32_t wait_meters = 0;           // number of ProcessorWait objects of this thread; 0: lost_ns is not counted
  void *task_observer = nullptr;     // observer of parallel tasks that this thread launches; see device/
  uint64_t lost_ns = 0;              // time that this thread ran tasks of workers that had no processor
  uint64_t number = 0;               // see thread_number()
  void *track = nullptr;             // the thread's events; owned by trace/
  uint32_t pushed_ranges = 0;        // number of ranges that were pushed and not yet popped; see trace/
};

// Trivial and constant-initialised, so an access is one add to the thread pointer. The initial-exec model uses glibc's
// static TLS surplus, so the block must stay small.
extern constinit thread_local ThreadState current_thread_state __attribute__((tls_model("initial-exec")));

inline ThreadState &thread_state() { return current_thread_state; }

// Returns the number of the calling thread, from 1 on. Unlike the system's thread IDs, it is never reused.
uint64_t thread_number() noexcept;
// Returns the thread that called the latest fork() on the way from the first process to this one. Of the threads from
// before that fork(), it is the only one left. 0: there was no fork().
uint64_t fork_survivor() noexcept;

// Call this after an owned pointer is stored in the block. It is then released when the thread exits.
void clean_at_thread_exit() noexcept;

// Frees the scratch memory of an exiting thread. Set by device/, which base must not include.
extern void (*free_workspace)(void *workspace);

}  // namespace opd
