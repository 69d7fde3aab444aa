// Finds kernels that read or write outside their tensors (run --check-bounds).
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/support/face.h"

namespace opd::cli {

struct Program;

// Before a kernel is called, it is called twice with copies of its tensors between guard pages. In the first call the
// copies end at the guard behind them, in the second they begin at the guard before them, with other bytes around them.
// So a kernel is found if
//   it touches a guard: the process ends with a message (see FaultWatch);
//   it changed bytes between copy and guard;
//   the two calls had different results, as after reading these bytes.
// Then the call itself is made normally. So results, aliases and memory are the same as without the check. But a kernel
// that keeps a state is called three times.
class BoundsCheck {
 public:
  // `program` must outlive this. `others`: functions of its modules that are not kernels.
  explicit BoundsCheck(const Program &program, std::set<std::string> others = {})
      : program_(program), others_(std::move(others)) {}

  // Returns a function for Vm::set_instrument(). It must not outlive this object.
  Function instrument();
  // Throws Failure with Exit::mismatch.
  void check(const Function &kernel, const std::string &name, const std::vector<opd_value> &arguments);

  // The first finding of the instrument. It is kept here because errors lose their type on the way through the library.
  const std::optional<std::string> &finding() const { return finding_; }
  std::string summary() const;  // "checked 3 calls of 2 kernels"

 private:
  const Function *kernel_of(const std::string &name);  // null if the program's modules have no such kernel

  const Program &program_;
  const std::set<std::string> others_;
  std::map<std::string, std::optional<Function>> kernels_;
  std::set<std::string> checked_, unchecked_;
  int64_t calls_ = 0;
  bool has_caches_ = false;  // a builtin calls their kernels, which the instrument does not see
  std::optional<std::string> finding_;
};

}  // namespace opd::cli
