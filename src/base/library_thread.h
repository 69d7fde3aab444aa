// Threads that the library starts: the workers of its thread pool, and those that write, ask and listen for it.
#pragma once
#include <pthread.h>

namespace opd {

// Starts a thread that takes no signals but those of its own faults: others are for the program's own threads. To be
// joined or detached. false: the system starts no more threads.
bool start_library_thread(const char *name, void *(*body)(void *), void *argument, pthread_t &out_thread) noexcept;

}  // namespace opd
