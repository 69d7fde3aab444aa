// The scope of one call. It borrows a run from the VM, connects the run to the cancel token, the deadline, the
// recordings and the instrument, and makes it the calling thread's run.
#pragma once
#include "vm/vm.h"

namespace opd {

class CallScope {
 public:
  static constexpr uint32_t kNoFunction = UINT32_MAX;  // the call is not of a function of the program
  CallScope(Vm &vm, uint32_t function, const CallSettings &settings);
  ~CallScope() {
    recorded_.end();
    thread_state().run_pool = outer_;
    thread_state().lists = outer_lists_;
    thread_state().stop = outer_stop_;
  }
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;
  Run &run() { return *borrowed_.run; }
  void note_failure(const Error &error) { recorded_.note_failure(error); }  // for errors that are returned, not thrown

 private:
  struct Borrowed {
    Vm &vm;
    Run *run;
    ~Borrowed() { vm.give_back(run); }
  };
  Run *prepare(uint32_t function, const CallSettings &settings);
  void begin_recording(uint32_t function, const RunRecorder *outer);

  // The order matters. prepare() runs when cancel_ is made. Members end in reverse order, so no other thread can reach
  // the run when it is given back.
  Borrowed borrowed_;
  void *const outer_;
  const MemoryRange outer_lists_;
  const CancelFlag *const outer_stop_;
  const Ref<Function> instrument_;
  RunRecording recorded_;
  CancelGuard cancel_;
  DeadlineGuard deadline_;
};

}  // namespace opd
