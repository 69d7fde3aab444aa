// Runs work that may hang, crash or print in a process of its own, such as drivers of devices and foreign programs.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/file.h"

namespace opd::cli {

class Probe {
 public:
  // Begins `work` in a copy of this process; its result is the answer.
  static Probe of_function(const std::function<std::string()> &work);
  // Begins a program; its standard output is the answer.
  static Probe of_program(const std::vector<std::string> &command);
  Probe(Probe &&from) noexcept
      : child_(std::exchange(from.child_, -1)),
        answers_(std::move(from.answers_)),
        problem_(std::move(from.problem_)) {}
  ~Probe();  // ends the process and all that it started

  static constexpr std::string_view kTooLate = "did not end in time";
  struct Answer {
    bool is_whole;     // the process ended with exit code 0 in time
    std::string text;  // at most 64 KiB
    std::string why;   // it is not whole: kTooLate, "ended by signal 11 (Segmentation fault)", "could not
                       // be started: …"
  };
  // Called once. If the process could not be started, the answer says why.
  Answer wait(std::chrono::steady_clock::time_point deadline);

 private:
  static Probe begin(const std::function<int(int to)> &child);
  Probe(pid_t child, Descriptor answers) : child_(child), answers_(std::move(answers)) {}
  explicit Probe(std::string problem) : child_(-1), problem_(std::move(problem)) {}
  int end();  // the status of waitpid()

  pid_t child_;
  Descriptor answers_;
  std::string problem_;  // why there is no process
};

}  // namespace opd::cli
