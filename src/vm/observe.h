// Calls that compiled functions make, seen one by one: recorded, named while they run, and not begun once the run is to
// end. Kernels are seen through their library's slots, everything else where it is called by TVMFFIFunctionCall.
#pragma once
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "module/call_hooks.h"
#include "vm/run.h"

namespace opd {

// What was called, by name. Thread-safe; names stay in place.
class OperatorNames {
 public:
  // Of `callee`, whose address is its own as long as this lives; `name` gives it when it is seen first.
  uint32_t index_of(const void *callee, const std::function<std::string()> &name);
  const std::string &at(uint32_t index);
  std::vector<std::string> all();

 private:
  std::mutex guard_;
  std::unordered_map<const void *, uint32_t> places_;
  std::deque<std::string> names_;
};

// A call from compiled code through TVMFFIFunctionCall.
int observe_call(Run &run, Function &function, const View *args, int32_t num_args, View *result) noexcept;

// Sees the kernel calls of a VM's libraries while it lives.
class ListenScope {
 public:
  explicit ListenScope(const std::vector<CallHooks *> &libraries);
  ~ListenScope();
  ListenScope(const ListenScope &) = delete;
  ListenScope &operator=(const ListenScope &) = delete;

 private:
  const std::vector<CallHooks *> &libraries_;
};

}  // namespace opd
