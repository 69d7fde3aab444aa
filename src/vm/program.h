// A program bound to its functions. Instructions are decoded once to a fixed size, so running them needs no checks.
#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "module/kernel_args.h"
#include "program/executable.h"
#include "vm/pool.h"

namespace opd {

enum class Op : uint8_t {
  kKernel,          // a library's compiled code: takes only tensors, numbers, text and nulls
  kPacked,          // any other packed function
  kProgram,         // a function of the program
  kStorage,         // alloc_storage of a known size
  kTensor,          // alloc_tensor of a known shape
  kNull,            // writes null_value to a register
  kForgetBorrowed,  // writes null_value to the register of a borrowed parameter, without releasing the old value
  kStaticBuffer,    // with a memory plan: ensures that a place's storage and tensors are in their registers
  kRet,
  kGoto,
  kIf
};

enum Check : uint8_t {
  kReadsUnset = 1,     // may read a register that was never written
  kWritesInPlace = 2,  // calls compiled code that may write its arguments, so these must not be read-only
};

struct Instr {
  Op op;
  uint8_t checks = 0;  // bits of Check: to be tested before the instruction
  uint16_t num_args = 0;
  uint32_t reg = 0;  // the register that is written; kRet and kIf read it
  union {
    SafeCall call;                // kKernel, kPacked
    int64_t offset;               // kGoto, kIf
    const TensorTemplate *shape;  // kTensor
    uint64_t callee;              // kProgram: index of the function
  };
  union {
    void *self = nullptr;  // kPacked
    uint64_t bytes;        // kTensor: offset into the storage
    uint64_t size_class;   // kStorage
    uint64_t place;        // kStaticBuffer
  };
  union {
    const uint32_t *args;     // registers
    uint32_t inline_args[2];  // if there are at most two arguments
  };
  const uint32_t *arg_registers() const { return num_args <= 2 ? inline_args : args; }
};
static_assert(sizeof(Instr) == 32);

// A storage that a frame keeps between calls, and the tensors in it. Each has its own register. See memory_plan.cc.
struct StaticBuffer {
  struct Tensor {
    const TensorTemplate *shape;
    uint64_t offset;
    uint32_t reg;
  };
  uint64_t size_class;
  uint32_t reg;  // the storage's register
  std::vector<Tensor> tensors;
};

// A decoded program. Registers of a frame: registers | void | vm | constants | immediates | function values | static
// buffers.
struct Program {
  struct Func {
    const FunctionInfo *info;
    uint32_t start = 0, end = 0, num_args = 0, num_registers = 0;
    uint32_t planned_start = start;  // start of the planned code, if any
    std::vector<uint32_t> places;    // static buffers that the planned code uses, in ascending order
    std::vector<uint8_t> borrowed;   // parameters that only null_value instructions write: the caller keeps them alive
    bool all_borrowed = true;
    uint64_t static_bytes = 0;  // bytes of the storages in `places`
  };

  Ref<Executable> executable;
  std::vector<Instr> code;             // one per instruction of the executable, then the planned code
  std::vector<uint32_t> planned_from;  // per planned instruction: its index in the executable
  // per instruction of the executable: the callee's index in the function table, for names
  std::vector<uint32_t> callee_of;
  std::vector<Func> functions;  // by index in the function table; `info` is null for packed functions
  std::unordered_map<std::string_view, uint32_t> index_of;  // functions of the program, by name
  std::vector<Ref<Function>> callees;       // by index in the function table; null for bytecode functions
  std::vector<Ref<KernelFunction>> bodies;  // by index in the function table: machine code of compiled functions
  std::vector<View> constants;              // borrowed from the executable, then immediates
  std::vector<uint32_t> function_values;    // function table indexes; their registers follow the immediates
  std::vector<std::unique_ptr<TensorTemplate>> templates;
  std::vector<StaticBuffer> places;
  std::vector<StorageKind> storage_kinds;  // by size class
  uint32_t num_registers = 0, max_args = 0, num_static_buffer_registers = 0;

  uint32_t void_register() const { return num_registers; }
  uint32_t vm_register() const { return num_registers + 1; }
  uint32_t first_constant() const { return num_registers + 2; }
  uint32_t first_static_buffer() const {
    return first_constant() + static_cast<uint32_t>(constants.size() + function_values.size());
  }
  uint32_t frame_size() const { return first_static_buffer() + num_static_buffer_registers; }
  size_t pc_of(const Instr *instr) const {
    const auto index = static_cast<size_t>(instr - code.data());
    return index < callee_of.size() ? index : planned_from[index - callee_of.size()];
  }
  const std::string &callee_name(size_t pc) const { return executable->functions[callee_of[pc]].name; }

  // `find` returns a packed function by name, or null. If functions are missing, one error names all of them.
  // `value_of` returns the value of the program's compiled function with an index.
  using Find = std::function<Ref<Function>(const std::string &)>;
  static std::unique_ptr<Program> decode(Ref<Executable> executable, const Find &find,
                                         const std::function<Ref<Function>(uint32_t)> &value_of);

 private:
  std::unique_ptr<uint32_t[]> arg_store_;
  std::vector<std::unique_ptr<uint32_t[]>> planned_args_;
  friend class Planner;
  friend class Decoder;
};

// Computes the bytes that alloc_storage allocates for a size, given as a shape and a dtype. Returns false if they do
// not fit 63 bits.
bool storage_bytes(std::span<const int64_t> size, DLDataType dtype, uint64_t &out_bytes);

// The memory planner (memory_plan.cc). For each function of a decoded program, if that saves instructions, it makes a
// second version of the code, the planned code. It keeps tensors between calls if they never leave their basic block.
//
// A storage and its tensors become static buffers of the frame (see StaticBuffer) under these conditions. Within one
// basic block, only alloc_tensor uses the storage, and all its tensors fit. Only compiled kernels use the tensors. The
// tensors end in the block: they are killed, overwritten, or alive when the function returns. Their alloc_tensor and
// kill instructions are removed. alloc_storage becomes a check whether a kernel kept one of the tensors. All other code
// stays as decoded.
void plan(Program &program);

// Throws an error for a program that needs the functions `names`, a list separated by ", ". It explains what opdyno
// omits of TVM's runtime on purpose.
[[noreturn]] void fail_missing_functions(std::string_view names);

}  // namespace opd
