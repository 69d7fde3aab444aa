// Keeps the program's signal handlers while foreign code runs that installs its own. Drivers with LLVM's compiler do so
// for crashes and interrupts. Without its handler of SIGSEGV, a JVM ends at the first null pointer. Without its handler
// of SIGINT, Python ends at Ctrl-C.
#pragma once
#include <array>
#include <csignal>

namespace opd {

class KeptSignalHandlers {
 public:
  KeptSignalHandlers() noexcept;
  // Restores the handlers that were changed meanwhile. The driver keeps its own for SIGFPE if the program had none,
  // because kernels may divide by 0.
  ~KeptSignalHandlers();
  KeptSignalHandlers(const KeptSignalHandlers &) = delete;
  KeptSignalHandlers &operator=(const KeptSignalHandlers &) = delete;

 private:
  static constexpr int kMost = 65;  // signals are 1 to 64
  std::array<struct sigaction, kMost> before_;
};

}  // namespace opd
