#include "base/signal_handlers.h"

namespace opd {
namespace {

bool is_default(const struct sigaction &action) {
  return !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

}  // namespace

KeptSignalHandlers::KeptSignalHandlers() noexcept {
  before_.fill({});
  for (int signal = 1; signal < kMost; ++signal) ::sigaction(signal, nullptr, &before_[static_cast<size_t>(signal)]);
}

KeptSignalHandlers::~KeptSignalHandlers() {
  for (int signal = 1; signal < kMost; ++signal) {
    const struct sigaction &before = before_[static_cast<size_t>(signal)];
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now)) continue;  // glibc reserves two signals
    const bool is_changed = now.sa_flags != before.sa_flags || now.sa_handler != before.sa_handler;
    if (is_changed && !(signal == SIGFPE && is_default(before))) ::sigaction(signal, &before, nullptr);
  }
}

}  // namespace opd
