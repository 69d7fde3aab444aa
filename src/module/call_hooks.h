// Calls of a library's code to its own functions. They go straight through its slots; while somebody listens, the slots
// lead to functions of ours that show each call to a hook. No code is made at run time: the functions are compiled in,
// as many as are ever needed at once. Cost while nobody listens: none.
#pragma once
#include <string>
#include <vector>

#include "value/function.h"

namespace opd {

struct HookedCall {
  SafeCall code = nullptr;  // what the slot led to
  std::string name;         // of the function, without its prefix
};

// Makes the call, however it likes. Set once, by the VM; until then calls are just made.
using CallHook = int (*)(const HookedCall &call, void *self, const View *args, int32_t num_args, View *result);
void set_call_hook(CallHook hook);

// The slots of one mapped library. Thread-safe. Must end before the library is unmapped.
class CallHooks {
 public:
  struct Slot {
    void **place;
    std::string name;
    bool read_only;  // its page, since the loader is done
  };
  explicit CallHooks(std::vector<Slot> slots) : slots_(std::move(slots)) {}
  ~CallHooks();
  CallHooks(const CallHooks &) = delete;
  CallHooks &operator=(const CallHooks &) = delete;

  void listen();  // counted
  void stop_listening();
  size_t size() const { return slots_.size(); }
  size_t num_hidden() const { return slots_.size() - places_.size(); }  // for which no function was left; once listened

 private:
  void acquire();
  void write(bool hooked);

  std::vector<Slot> slots_;
  std::vector<size_t> places_;  // in the table of hooked calls, one for each of the first slots; kept to the end
  int listeners_ = 0;
};

}  // namespace opd
