// A line on the terminal that names the current activity, shown if it takes more than two seconds.
#include "cli/support/progress.h"

#include <chrono>

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

}  // namespace opd::cli
