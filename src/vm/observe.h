// Observes the calls of compiled functions: records them, publishes the name of the current one, and refuses the next
// one if the run must stop. Kernels are observed by hooks in their library's slots, all other functions in
// TVMFFIFunctionCall. Both happen only while the run is attentive (Run::observe_calls).
#pragma once
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "base/fork_mutex.h"
#include "module/image/call_hooks.h"
#include "vm/run.h"

namespace opd {

// Numbers and names of the functions that compiled code calls. Thread-safe; references to names stay valid.
class OperatorNames {
 public:
  // The number of the function at `callee`. No other function may have that address while this lives. `name` is called
  // once, when the function is first seen.
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

// The function that hooks of kernels call (module/image/call_hooks.h).
int observe_kernel(const HookedCall &call, void *self, const View *args, int32_t num_args, View *result);

}  // namespace opd
