// The state of one call into a program: frames, memory pool, stop flag, recording. The program itself never changes, so
// any number of threads may call one VM. The VM keeps runs between calls, because a new run has empty free lists and
// would allocate everything again.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "base/fork_mutex.h"
#include "module/image/call_hooks.h"
#include "trace/record/run_recorder.h"
#include "vm/cancel.h"
#include "vm/graph_cache.h"
#include "vm/known_shapes.h"
#include "vm/pool.h"
#include "vm/program.h"

namespace opd {

class Vm;

inline constexpr int32_t kUnset = -1;  // type of a register that was not written yet; only values in a frame have it

inline constexpr size_t kInstrumentHead = 4;  // callee, its name, whether this is before the call, its result

struct Frame {
  std::vector<View> registers;  // the layout is described at Program
  std::vector<View> scratch;    // an instrument's arguments: the head, then the arguments of the call
  View *args() { return scratch.data() + kInstrumentHead; }
  const Program::Func *function = nullptr;
  const Instr *return_to = nullptr;  // the caller's call instruction; null: the end of the run
  uint64_t begin = 0;                // ticks, if recorded
};

// The lists that machine code gets, in one block: constants, functions, registers. In a damaged executable their
// lengths may differ from what the code assumes. So each read is checked against the block, which ThreadState refers
// to, and each write against the registers.
struct CompiledLists {
  std::vector<View> items;
  size_t num_constants = 0, first_register = 0;
  // The registers of the running code; null between calls.
  View *registers = nullptr;
  uint32_t num_registers = 0;

  bool has_register(const void *list, int32_t index) const {
    return list == registers && static_cast<uint32_t>(index) < num_registers;
  }
};

struct Run : RunSignals {
  Run(Vm &vm, const Program &program);
  ~Run();

  Vm *vm;
  // Each observed call reads these members and the signals before them.
  RunRecorder recorder;
  const NameId *callee_names = nullptr;  // by instruction; only if the recorder listens
  Function *instrument = nullptr;        // called around every call; the call keeps it alive
  RunPool pool;
  KnownShapes known_shapes;
  std::vector<std::unique_ptr<Frame>> frames;  // [0, depth) are in use
  size_t depth = 0;
  int32_t native_depth = 0;                 // runs and builtins on the C stack below
  const Program::Func *compiled = nullptr;  // the running compiled function, or null
  CompiledLists lists;                      // its lists
  Ref<Error> list_error;                    // set if the function asks for an item outside the lists
  bool in_callee = false;                   // an observed function runs now
  struct KnownCallee {
    const void *callee = nullptr;
    NameId name = kNoName;
  } known_callees[64];              // a cache, by address
  bool has_own_instrument = false;  // the instrument belongs to the call, not to the VM
  bool showing = false;             // The instrument runs. Its own calls are not shown to it.
  Ref<Error> failure;               // the error that ended the call; Vm::run() takes it
  Run *next_idle = nullptr;
  GraphCache graphs;
  std::vector<void *> streams;  // per device: the stream that its latest call used; empty without asynchronous devices

  // By default, the calls of compiled code are not observed. This function turns observation on until the call ends. It
  // is called at the start for a recording or an instrument. Later any thread may call it: a token is cancelled, a
  // deadline passes, or the current operator's name is asked for.
  void observe_calls() noexcept;
  // Until the call ends, records each tensor that is made in a storage. The recorder must be listening.
  void record_bindings() noexcept;
  bool observes_calls() const { return attentive.load(std::memory_order_relaxed) && compiled && !in_callee; }
  void end_call() noexcept;  // makes the run ready for another call

  Frame &push();
  void drop_idle_static_buffers();             // except those of running functions
  uint64_t idle_bytes(DLDevice device) const;  // memory that the run keeps between calls
  static Run *of_thread();                     // the calling thread's run; null outside a run
  static Run *of(const ThreadState &state);    // the run of another thread
  // The kernel that a bytecode function, or an observed compiled one, is calling. Null: none, or not known. Signal
  // handlers may call this.
  const char *running_kernel() const noexcept;

 private:
  ForkMutex hooks_guard_{LockRank::kRunHooks};
  std::optional<HookScope> hooks_;
};

// ThreadState has only the pool. Every current pool is a member of its run.
inline Run *Run::of(const ThreadState &state) {
  auto *const pool = static_cast<char *>(state.run_pool);
  return pool ? reinterpret_cast<Run *>(pool - offsetof(Run, pool)) : nullptr;
}
inline Run *Run::of_thread() { return of(thread_state()); }

// Runs a function of the program to its end. If an operator fails, run.failure gets its error, which names the
// operator. `args` are already checked and stay alive during the call. The result is owned.
View interpret(Run &run, uint32_t function, Args args);

}  // namespace opd
