#include "cli/support/progress.h"

#include <unistd.h>

#include <algorithm>

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

using namespace std::chrono_literals;

Progress::Progress() {
  if (has_terminal()) thread_ = std::jthread([this](const std::stop_token &stopped) { draw_until(stopped); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  clear();
}

void Progress::stage(std::string what, std::function<std::string()> detail) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  detail_ = std::move(detail);
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (is_shown_) print_message("\r\033[K");
  is_shown_ = false;
  what_.clear();  // else the line could be drawn again before the next output
}

void Progress::draw_until(const std::stop_token &stopped) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (auto wait = 2000ms;; wait = 500ms) {
    changed_.wait_for(lock, stopped, wait, [] { return false; });
    if (stopped.stop_requested()) return;
    if (what_.empty()) continue;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    print_message(cat("\r\033[K", what_, detail_ ? detail_() : "", ", ", fixed(elapsed.count(), 1), " s"));
    is_shown_ = true;
  }
}

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

opd_call_options options_of_call(const CancelToken &token, const Watchdog *watchdog) {
  auto options = opdyno::defaults(opd_call_options_init);
  options.cancel = token.get();
  if (watchdog) options.timeout_ns = watchdog->remaining().count();
  return options;
}

}  // namespace opd::cli
