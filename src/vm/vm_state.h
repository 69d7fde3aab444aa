// A VM's state between calls: saved functions, inputs and outputs of stateful functions, the instrument. Readers get
// snapshots. If there is no such state, a call costs two loads.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fork_mutex.h"
#include "value/function.h"

namespace opd {

class Vm;
struct CallSettings;

// Replaces the VM's way to make calls. The keeper calls Vm::run_here(). The capture of calls (replay/) uses it.
class CallKeeper : public Object {
 public:
  static int32_t type() { return OPD_OBJECT; }
  virtual ~CallKeeper() = default;
  // Like Vm::run(). Called for every call, including nested ones.
  [[nodiscard]] virtual Ref<Error> run(Vm &vm, uint32_t function, Args args, const CallSettings &settings,
                                       Value &result) = 0;
};

struct SavedFunction : Object {  // a function of the program with its arguments
  static int32_t type();         // "opdyno.vm.SavedFunction"
  uint32_t function = 0;
  std::vector<Value> args;
  bool include_return = true;
};

// Thread-safe, but a user must call set_input(), set_output() and output() of one function in this order.
class VmState {
 public:
  void save(std::string name, Ref<SavedFunction> function);  // replaces an existing one
  Ref<SavedFunction> saved(std::string_view name) const;     // null if there is none

  void set_input(uint32_t function, std::vector<Value> args);  // clears the output
  bool has_input(uint32_t function) const;
  std::vector<Value> input(uint32_t function) const;  // call it only if has_input()
  void set_output(uint32_t function, Value output);
  bool output(uint32_t function, Value &out) const;  // false: the function did not run since set_input()

  void set_instrument(Ref<Function> instrument);
  Ref<Function> instrument() const;

  // The keeper stays here even if it is not listening, because it has the result of its call.
  void set_keeper(Ref<CallKeeper> keeper, bool listens);
  Ref<CallKeeper> keeper() const;
  bool has_listening_keeper() const { return keeper_listens_.load(std::memory_order_acquire); }

  // Calls visit for each value kept here: instrument, saved functions, inputs, outputs. The lock is held meanwhile.
  void visit_kept(const std::function<void(const View &)> &visit) const;

 private:
  struct Stateful {
    std::vector<Value> args;
    Value output;
    bool ran = false;
  };
  struct NameHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  mutable ForkMutex guard_{LockRank::kVmState};
  std::unordered_map<std::string, Ref<SavedFunction>, NameHash, std::equal_to<>> saved_;
  std::map<uint32_t, Stateful> stateful_;
  Ref<Function> instrument_;
  Ref<CallKeeper> keeper_;
  // While a flag is false, calls need no lock.
  std::atomic<bool> any_stateful_{false}, any_instrument_{false}, keeper_listens_{false};
};

}  // namespace opd
