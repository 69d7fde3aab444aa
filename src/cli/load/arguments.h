// The arguments of a call. They come from -i and --params; missing ones are made to fit the checks of the program and
// its kernels.
#pragma once
#include <string>
#include <vector>

#include "cli/load/sweep.h"
#include "cli/load/target.h"
#include "cli/support/args.h"

namespace opd::cli {

class Arguments {
 public:
  // Fails with Exit::usage, naming the parameter and a fitting argument. `sizes` are added to those of --dim.
  // `is_there`: the program is on another machine.
  Arguments(const Program &program, const Target &target, const Args &args, const Sizes &sizes = {},
            bool is_there = false);

  // Borrowed views, in order.
  const std::vector<opd_value> &views() const { return views_; }

 private:
  std::vector<Value> owned_;
  std::vector<opd_value> views_;
};

}  // namespace opd::cli
