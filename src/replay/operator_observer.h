// Observes one call by its instrument: operators and host functions, before and after they run. Both a capture and a
// replay fill the memory that the program allocates (fill_unwritten() in compare/value_store.h). So both read the same
// bytes in unwritten memory.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "compare/value_store.h"
#include "replay/kept_value.h"
#include "vm/vm.h"

namespace opd {

// One call of a function by the program.
struct ObservedCall {
  std::string name;        // name of the kernel, if a builtin calls one
  std::vector<View> args;  // arguments of the kernel; borrowed
  // True for kernels and other functions of libraries, and for builtins that run the kernels of a KV state. False for
  // host functions, functions of the program and other builtins.
  bool is_operator = false;
  bool is_host = false;
};

class OperatorObserver {
 public:
  // `also` is shown everything, too, and decides whether calls are skipped; may be null. Both must outlive the
  // observer.
  OperatorObserver(Vm &vm, const std::vector<std::string> &host_functions, Ref<Function> also)
      : vm_(vm), host_functions_(host_functions), also_(std::move(also)) {}
  virtual ~OperatorObserver() = default;
  // For CallSettings. The observer must outlive the calls that it is used for.
  Ref<Function> make_instrument() {
    return make_function([this](Args shown) { return show(shown); });
  }

 protected:
  virtual void begin(const ObservedCall &call) = 0;  // not called for the program's own functions
  virtual void end(const ObservedCall &call, const View &result) = 0;
  Vm &vm() const { return vm_; }

 private:
  Value show(Args shown);
  ObservedCall observed(std::string_view name, Args args) const;
  void end_call(std::string_view name, Args args, const View &result);

  Vm &vm_;
  const std::vector<std::string> &host_functions_;
  const Ref<Function> also_;
  bool is_in_host() const {  // calls in a host function are not the program's
    return open_.any_of([](const ObservedCall &call) { return call.is_host; });
  }
  OpenCalls<ObservedCall> open_;
};

// Hashes everything that a call may have written, including KV states, and its result.
ContentsHash hash_of_call(const ObservedCall &call, const View &result, DeviceMove move = {});

}  // namespace opd
