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
  enum class Shown { on_terminal, never };
  explicit Progress(Shown shown = Shown::on_terminal);  // shows nothing if standard error is not a terminal
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // Sets the activity. `detail` is called from another thread each time the line is drawn; its text is appended.
  void stage(std::string what, std::function<std::string()> detail = nullptr);
  // Removes the line from the terminal, before other text is printed.
  void clear();

 private:
  void draw_until_stopped();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::function<std::string()> detail_;
  bool is_shown_ = false, is_stopped_ = false;
  std::thread thread_;
};

}  // namespace opd::cli
