// Protects the program's signals and signal handlers from the library's threads and from the foreign code that it runs.
#pragma once
#include <pthread.h>

#include <array>
#include <csignal>

namespace opd {

// Starts a thread that takes only signals of its own faults. All other signals go to the program's own threads. The
// caller must join or detach the thread. Returns false if the system cannot start another thread.
bool start_library_thread(const char *name, void *(*body)(void *), void *argument, pthread_t &out_thread) noexcept;

// Keeps the program's signal handlers while foreign code runs that installs its own. Drivers with LLVM's compiler do so
// for crashes and interrupts. Without its handler of SIGSEGV, a JVM ends at the first null pointer. Without its handler
// of SIGINT, Python ends at Ctrl-C.
class KeptSignalHandlers {
 public:
  KeptSignalHandlers() noexcept;
  // Restores the handlers that were changed since the construction. The driver keeps its own for SIGFPE if the program
  // had none, because kernels may divide by 0.
  ~KeptSignalHandlers();
  KeptSignalHandlers(const KeptSignalHandlers &) = delete;
  KeptSignalHandlers &operator=(const KeptSignalHandlers &) = delete;

 private:
  static constexpr int kMost = 65;  // signals are 1 to 64
  std::array<struct sigaction, kMost> before_;
};

}  // namespace opd
