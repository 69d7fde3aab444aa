// One prepared call: module, function, arguments, and the time it may take. Shared by run, bench and profile.
#pragma once
#include <memory>

#include "arguments.h"
#include "progress.h"
#include "target.h"
#include "watchdog.h"

namespace opd::cli {

class Runner {
 public:
  // Loads words()[0] and chooses words()[1] or the function that stands out.
  explicit Runner(const Args &args);

  const Program &program() const { return program_; }
  const Target &target() const { return *target_; }
  const std::vector<opd_value> &arguments() const { return arguments_->views(); }
  Progress &progress() { return progress_; }

  // Starts the clock of --timeout; the calls that follow share it.
  void start();
  // Calls once, with deadline and token.
  Value call();
  // Calls once at the least cost; without a deadline of its own, so only where none is set.
  Value call_bare() { return target_->call(arguments()); }
  bool has_deadline() const { return watchdog_ != nullptr; }
  // For calls that others make.
  opd_call_options call_options() const;

 private:
  std::optional<std::chrono::nanoseconds> timeout_;
  Program program_;
  std::unique_ptr<Target> target_;
  std::unique_ptr<Arguments> arguments_;
  Cancel token_;
  // Last: their threads look at what stands above, so they must end first.
  Progress progress_;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace opd::cli
