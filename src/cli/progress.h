// A line on the terminal that says what goes on, once it has gone on for two seconds.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace opd::cli {

class Progress {
 public:
  Progress();  // shows nothing where standard error is no terminal
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // Sets what goes on; `detail`, called from another thread, adds to it each time the line is drawn.
  void stage(std::string what, std::function<std::string()> detail = nullptr);
  // Takes the line off the terminal, before other text is printed.
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
