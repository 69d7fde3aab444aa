// One prepared call: module, function, arguments, time limit. The commands run, bench and profile share it.
#pragma once
#include <memory>

#include "cli/load/target.h"
#include "cli/support/progress.h"

namespace opd::cli {

class Runner {
 public:
  // Loads words()[0] and chooses words()[1], or the default function. `sizes` are added to those of --dim.
  // Runs on the machine of --on, if it is given.
  explicit Runner(const Args &args, const Sizes &sizes = {});
  void resize(const Args &args, const Sizes &sizes);  // makes new arguments

  const Program &program() const { return program_; }
  const Target &target() const { return *target_; }
  const std::vector<opd_value> &arguments() const { return arguments_->views(); }
  Progress &progress() { return progress_; }
  const Machine *machine() const { return machine_ ? &*machine_ : nullptr; }  // null: this machine

  // Starts the clock of --timeout; all following calls share it.
  void start();
  // Calls once, with deadline and token.
  Value call();
  // The function for many calls with arguments(), after start(). If there is a deadline, a wrapper checks it. A
  // function on another machine has no wrapper, because it must be measured there. Must not outlive this.
  Function function() const;
  // Returns the options for calls that other code makes.
  opd_call_options call_options() const { return options_of_call(token_, watchdog_.get()); }

 private:
  std::optional<std::chrono::nanoseconds> timeout_;
  std::optional<Machine> machine_;
  Program program_;
  std::unique_ptr<Target> target_;
  std::unique_ptr<Arguments> arguments_;
  CancelToken token_;
  // These are last, because their threads use the members above and must end first.
  Progress progress_;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace opd::cli
