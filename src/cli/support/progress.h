// A line on the terminal that names the current activity, shown if it takes more than two seconds.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace opd::cli {

class Progress {
 public:
  Progress();  // shows nothing if standard error is not a terminal
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // Sets the activity. `detail` is called from another thread each time the line is drawn; its text is appended.
  void stage(std::string what, std::function<std::string()> detail = nullptr);
  // Removes the line from the terminal, before other text is printed.
  void clear();

 private:
  void draw_until(const std::stop_token &stopped);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string what_;
  std::function<std::string()> detail_;
  bool is_shown_ = false;
  std::jthread thread_;
};

}  // namespace opd::cli
