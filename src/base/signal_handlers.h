// The program's signal handlers, kept while foreign code runs that installs its own. Drivers with a compiler inside do
// (LLVM's for crashes and interrupts): a JVM without its handler of SIGSEGV ends at the first null pointer, and Python
// without its handler of SIGINT at Ctrl-C.
#pragma once
#include <array>
#include <csignal>

namespace opd {

class KeptSignalHandlers {
 public:
  KeptSignalHandlers() noexcept;
  // Sets those again that were changed meanwhile. The driver keeps its own for SIGFPE if the program had none: kernels
  // may divide by 0.
  ~KeptSignalHandlers();
  KeptSignalHandlers(const KeptSignalHandlers &) = delete;
  KeptSignalHandlers &operator=(const KeptSignalHandlers &) = delete;

 private:
  static constexpr int kMost = 65;  // signals are 1 to 64
  std::array<struct sigaction, kMost> before_;
};

}  // namespace opd
