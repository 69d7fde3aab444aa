// Threads that the library starts: workers of its thread pool, and threads that write, ask and listen for it.
#pragma once
#include <pthread.h>

namespace opd {

// Starts a thread that takes only signals of its own faults. All other signals go to the program's own threads. The
// caller must join or detach the thread. Returns false if the system cannot start another thread.
bool start_library_thread(const char *name, void *(*body)(void *), void *argument, pthread_t &out_thread) noexcept;

}  // namespace opd
