// Ends the process if a call exceeds its time limit. The VM stops between operators, but a running kernel cannot be
// interrupted.
#include "cli/support/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

using namespace std::chrono_literals;

Watchdog::Watchdog(std::chrono::nanoseconds timeout, CancelToken token, std::string function)
    : timeout_(timeout),
      deadline_(std::chrono::steady_clock::now() + timeout),
      token_(std::move(token)),
      function_(std::move(function)),
      thread_([this](const std::stop_token &stopped) { watch(stopped); }) {}

std::chrono::nanoseconds Watchdog::remaining() const {
  return std::max<std::chrono::nanoseconds>(1ns, deadline_ - std::chrono::steady_clock::now());
}

void Watchdog::watch(const std::stop_token &stopped) const {
  // Grace time, so that the VM can notice its deadline first and end the call in good order.
  constexpr auto grace = 250ms;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any wakes;
  wakes.wait_until(lock, stopped, deadline_ + grace, [] { return false; });
  if (stopped.stop_requested()) return;
  const char *running = token_ ? token_.current_operator() : nullptr;
  print_message(
      cat(has_terminal() ? "\r\033[K" : "", "opdyno: ", running ? "operator '" : "function '",
          running ? running : function_.c_str(), "' was still running ",
          significant(std::chrono::duration<double>(timeout_).count(), 6),
          " s after the start (--timeout); a running kernel cannot be interrupted, so the program ends here\n"));
  _exit(static_cast<int>(Exit::failed));  // destructors would wait for the kernel
}

}  // namespace opd::cli
