// Hooks into the calls that a library's code makes to its own functions.
//
// Compiled VM code calls kernels directly, through pointers in its library: the slots. No code of opdyno runs in
// between, so such a call can be neither recorded nor prevented. While a library is hooked, its slots point at
// trampolines instead. A trampoline passes each call to one function, the call hook. The trampolines are compiled in,
// because hardened systems forbid making code at run time. The whole process has 512 of them.
//
// Threads: slots are changed while other threads call through them. A slot is one aligned pointer, written by one
// atomic store. So a caller reaches either the kernel or the trampoline, and both make the call. A trampoline stays
// valid until its library is unmapped, so a thread may still be inside one when the hooks are removed.
// Cost: none while a library is not hooked. Hooking it takes a lock and writes each slot.
#pragma once
#include <string>
#include <vector>

#include "trace/model/names.h"
#include "value/function.h"

namespace opd {

struct HookedCall {
  SafeCall code = nullptr;  // the kernel
  NameId name = kNoName;    // name of the kernel without its prefix
};

// Makes the call, or replaces it. The VM sets the hook once. Until then trampolines only call the kernel.
using CallHook = int (*)(const HookedCall &call, void *self, const View *args, int32_t num_args, View *result);
void set_call_hook(CallHook hook);

constexpr size_t kMostHookedKernels = 512;  // total for all libraries: each kernel needs a trampoline

// The slots of one mapped library. Thread-safe. It must be destroyed before the library is unmapped.
class CallHooks {
 public:
  struct Slot {
    void **place;
    std::string name;
    bool read_only;  // the loader has made the slot's page read-only
  };
  explicit CallHooks(std::vector<Slot> slots) : slots_(std::move(slots)) {}
  ~CallHooks();
  CallHooks(const CallHooks &) = delete;
  CallHooks &operator=(const CallHooks &) = delete;

  // Calls are counted: the slots point at trampolines from the first add() to the last remove(). Neither function
  // fails. If a slot cannot be changed, or no trampoline is left, the slot keeps pointing at its kernel.
  void add() noexcept;
  void remove() noexcept;
  size_t size() const { return slots_.size(); }
  size_t num_hidden() const;  // slots that still point at kernels although the library is hooked

 private:
  void acquire();
  void write(bool hooked) noexcept;

  std::vector<Slot> slots_;
  std::vector<size_t> places_;  // indices into the table of calls, for the first slots
  int num_users_ = 0;
  size_t num_shown_ = 0;  // slots that point at trampolines
};

// Hooks libraries during its life.
class HookScope {
 public:
  explicit HookScope(const std::vector<CallHooks *> &libraries) : libraries_(libraries) {
    for (CallHooks *hooks : libraries_) hooks->add();
  }
  ~HookScope() {
    for (CallHooks *hooks : libraries_) hooks->remove();
  }
  HookScope(const HookScope &) = delete;
  HookScope &operator=(const HookScope &) = delete;

 private:
  const std::vector<CallHooks *> &libraries_;
};

}  // namespace opd
