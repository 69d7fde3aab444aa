// Calls that compiled functions make, looked at one by one: recorded, named while they run, and refused once the run is
// to end. Kernels are seen by hooks in their library's slots, all other functions in TVMFFIFunctionCall. Neither
// happens unless the run is attentive (Run::observe_calls).
#pragma once
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "base/fork_mutex.h"
#include "module/call_hooks.h"
#include "vm/run.h"

namespace opd {

// Numbers for the functions that compiled code calls, and their names. Thread-safe; a name stays where it is.
class OperatorNames {
 public:
  // The number of the function at `callee`. No other function may have that address while this lives. `name` is asked
  // when the function is seen for the first time.
  uint32_t index_of(const void *callee, const std::function<std::string()> &name);
  const std::string &at(uint32_t index);
  std::vector<std::string> all();

 private:
  ForkMutex guard_{LockRank::kOperatorNames};
  std::unordered_map<const void *, uint32_t> places_;
  std::deque<std::string> names_;
};

// A call from compiled code through TVMFFIFunctionCall.
int observe_call(Run &run, Function &function, const View *args, int32_t num_args, View *result) noexcept;

// What the hooks of kernels call (module/call_hooks.h).
int observe_kernel(const HookedCall &call, void *self, const View *args, int32_t num_args, View *result);

}  // namespace opd
