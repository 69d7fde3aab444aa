// The arguments of a call: what -i and --params give, and for the rest what the program's and its kernels' checks ask
// for.
#pragma once
#include <string>
#include <vector>

#include "args.h"
#include "sweep.h"
#include "target.h"

namespace opd::cli {

class Arguments {
 public:
  // Fails with Exit::usage naming the parameter and what to pass for it.
  // `sizes` are further ones than --dim's.
  Arguments(const Program &program, const Target &target, const Args &args, const Sizes &sizes = {});

  // Borrowed views, in order.
  const std::vector<opd_value> &views() const { return views_; }

 private:
  std::vector<Value> owned_;
  std::vector<opd_value> views_;
};

}  // namespace opd::cli
