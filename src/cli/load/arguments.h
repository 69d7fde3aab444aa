// The arguments of a call. They come from -i and --params; missing ones are made to fit the checks of the program and
// its kernels.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/load/program.h"
#include "cli/load/target.h"
#include "cli/support/args.h"

namespace opd::cli {

// Values of sizes that the program leaves open, in the order given.
using Sizes = std::vector<std::pair<std::string, int64_t>>;

// The rows of --sweep; a single row without sizes if it is absent. Fails with Exit::usage.
std::vector<Sizes> sweep_of(const Args &args);
std::string sizes_text(const Sizes &sizes);  // "n=8, m=4"

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

// Completes the parameters of a program's function as far as possible. `given` holds a value for each known parameter,
// and OPD_NONE for the others.
std::vector<Param> probe_params(const Program &program, const Target &target, const std::vector<opd_value> &given);

}  // namespace opd::cli
