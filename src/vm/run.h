// The state of one call into a program: frames, memory pool, stop flag, recording. The program itself never changes, so
// any number of threads may call one VM. The VM keeps runs between calls, because a new run has empty free lists and
// would allocate everything again.
#pragma once
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fork_mutex.h"
#include "device/graph.h"
#include "module/image/call_hooks.h"
#include "trace/record/run_recorder.h"
#include "value/function.h"
#include "value/value.h"
#include "vm/cancel.h"
#include "vm/pool.h"
#include "vm/program.h"

namespace opd {

class Vm;

// State that vm.builtin.cuda_graph.* keeps between calls: memory, and device graphs with the results of their
// functions. A launch writes to the memory that was used at the capture. So graphs and memory belong to a Run, which
// only one call uses at a time. Both are freed with an idle run.
class GraphCache {
 public:
  // Returns the result of the first call with this index.
  Value allocation(Function &function, int64_t index);
  // The first call for an index and a shape calls the function, and then captures a second call. Later calls launch the
  // captured graph and return its result. If their arguments differ, they capture again. On devices without graphs,
  // each call calls the function.
  Value run(const Vm &vm, Function &function, Args args, int64_t index, std::span<const int64_t> shape);

  uint64_t kept_bytes(DLDevice device) const;  // storages in results of allocation()

 private:
  struct Captured {
    std::vector<Value> args;  // keep the memory that the graph uses
    Value result;
    NameId name = kNoName;
    std::unique_ptr<Graph> graph;
  };
  std::map<int64_t, Value> allocations_;
  std::map<std::pair<int64_t, std::vector<int64_t>>, Captured> graphs_;
};

// A cache of tensor templates by the address of the shape constant. Compiled code makes tensors of the same few shapes
// again and again.
class KnownShapes {
 public:
  KnownShapes(RunPool &pool, std::span<const View> constants) : pool_(pool) {
    for (const View &constant : constants)
      if (constant.type == OPD_SHAPE) shapes_.push_back(static_cast<const Shape *>(object_of(constant)));
    std::ranges::sort(shapes_);
  }

  // Returns null if the shape is not a constant, or if no tensor can have it.
  const TensorTemplate *find(const Shape &shape, DLDataType dtype) {
    const TensorTemplate *known = recent(shape, dtype);
    return known ? known : look_up(shape, dtype);
  }
  // Looks only at recent finds. May return null for a known shape.
  const TensorTemplate *recent(const Shape &shape, DLDataType dtype) const noexcept {
    const auto bits = std::bit_cast<uint32_t>(dtype);
    const Entry &entry = recent_[place_of(shape, bits)];
    return entry.shape == &shape && entry.dtype == bits ? entry.known : nullptr;
  }

 private:
  struct Entry {
    const Shape *shape = nullptr;
    uint32_t dtype = 0;
    const TensorTemplate *known = nullptr;
  };
  static constexpr size_t kRecent = 32;
  static size_t place_of(const Shape &shape, uint32_t dtype) {  // the second byte of a dtype is its number of bits
    return (reinterpret_cast<uintptr_t>(&shape) / 16 + (dtype >> 8) / 8) % kRecent;
  }
  [[gnu::noinline]] const TensorTemplate *look_up(const Shape &shape, DLDataType dtype) {
    if (!std::ranges::binary_search(shapes_, &shape)) return nullptr;
    const auto bits = std::bit_cast<uint32_t>(dtype);
    auto &known = templates_[{&shape, bits}];
    if (!known) {
      known = TensorTemplate::make(shape.dims(), dtype, 0);
      if (!known) return nullptr;
      known->id = pool_.add_template();
    }
    recent_[place_of(shape, bits)] = {&shape, bits, known.get()};
    return known.get();
  }

  RunPool &pool_;
  std::vector<const Shape *> shapes_;  // by address
  std::map<std::pair<const Shape *, uint32_t>, std::unique_ptr<TensorTemplate>> templates_;
  Entry recent_[kRecent];
};

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
  // Bytes of the static buffers of all frames, and the most that one function of those that ran needs.
  uint64_t static_bytes = 0, largest_static_bytes = 0;
  int32_t native_depth = 0;                 // runs and builtins on the C stack below
  const Program::Func *compiled = nullptr;  // the running compiled function, or null
  CompiledLists lists;                      // lists of the running compiled function
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
  void drop_idle_static_buffers();  // except those of running functions
  void make_room_for_static_buffer(uint64_t bytes);
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

// ---- storages and tensors that a frame keeps in separate registers between calls, as the program's plans require

// Whether a place can be reused: it was made, and none of its tensors has another owner.
inline bool is_ready(const View *registers, const StaticBuffer &place) {
  if (registers[place.reg].type == kUnset) return false;
  for (const auto &tensor : place.tensors)
    if (!object_of(registers[tensor.reg])->has_sole_owner()) return false;
  return true;
}

// Makes the objects of a place again. Old objects that are still referenced stay alive. Throws if there is no memory.
void make_static_buffer(Run &run, View *registers, const StaticBuffer &place);

// Runs a function of the program to its end. If an operator fails, run.failure gets its error, which names the
// operator. `args` are already checked and stay alive during the call. The result is owned.
View interpret(Run &run, uint32_t function, Args args);

}  // namespace opd
