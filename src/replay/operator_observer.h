// An observer of one call by its instrument: of operators, and functions of the host, before and after they run.
// Memory that the program allocates is filled (shown_call.h), when a call is captured and when it is replayed: so both
// find the same in memory that was not written yet.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "compare/value_store.h"
#include "replay/kept_value.h"
#include "vm/vm.h"

namespace opd {

// One call of a function as the program makes it.
struct ObservedCall {
  std::string name;        // of the kernel, if a builtin calls one
  std::vector<View> args;  // of the kernel; borrowed
  // Neither of the host nor one of the program's own functions nor a builtin, except builtins that run the kernels of a
  // KV state.
  bool is_operator = false;
  bool is_host = false;
};

class OperatorObserver {
 public:
  // `also` is shown everything, too, and decides whether calls are skipped; may be null. Both must outlive the
  // observer.
  OperatorObserver(Vm &vm, const std::vector<std::string> &host_functions, Ref<Function> also);
  virtual ~OperatorObserver() = default;
  // For CallSettings. The observer must outlive the calls that it is used for.
  Ref<Function> make_instrument();

 protected:
  virtual void begin(const ObservedCall &call) = 0;  // not of the program's own functions
  virtual void end(const ObservedCall &call, const View &result) = 0;
  Vm &vm() const { return vm_; }

 private:
  struct Open {
    const View *args;  // differs between open calls
    ObservedCall call;
  };
  Value show(Args shown);
  ObservedCall observed(std::string_view name, Args args) const;
  void end_call(std::string_view name, Args args, const View &result);

  Vm &vm_;
  const std::vector<std::string> &host_functions_;
  const Ref<Function> also_;
  std::vector<Open> open_;
  size_t num_hosts_ = 0;  // open calls of functions of the host; calls within them are not the program's
};

// Of all that a call can have written, also into KV states, and what it returns.
ContentsHash hash_of_call(const ObservedCall &call, const View &result, DeviceMove move = {});

}  // namespace opd
