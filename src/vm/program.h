// A program bound to its functions: instructions decoded once to a fixed size, so that running them needs no checks.
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
  kKernel,          // compiled code of a library: tensors, numbers, text and nulls only
  kPacked,          // any other packed function
  kProgram,         // a function of the program
  kStorage,         // alloc_storage of a known size
  kTensor,          // alloc_tensor of a known shape
  kNull,            // null_value into a register
  kForgetBorrowed,  // null_value into a borrowed parameter: no reference ends
  kStaticBuffer,    // of planned code: makes sure that a place's storage and tensors are in their registers
  kRet,
  kGoto,
  kIf
};

enum Check : uint8_t {
  kReadsUnset = 1,     // may read a register that was never written
  kWritesInPlace = 2,  // a call of compiled code that may write its arguments: they must not be read-only
};

struct Instr {
  Op op;
  uint8_t checks = 0;  // to be made before the instruction: bits of Check
  uint16_t num_args = 0;
  uint32_t reg = 0;  // written, or read by kRet and kIf
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
    uint32_t inline_args[2];  // if there are at most two
  };
  const uint32_t *arg_registers() const { return num_args <= 2 ? inline_args : args; }
};
static_assert(sizeof(Instr) == 32);

// A storage that a frame keeps between calls, and the tensors in it. Each has a register of its own. memory_plan.cc.
struct StaticBuffer {
  struct Tensor {
    const TensorTemplate *shape;
    uint64_t offset;
    uint32_t reg;
  };
  uint64_t size_class;
  uint32_t reg;  // of the storage
  std::vector<Tensor> tensors;
};

// The registers of a frame: registers | void | vm | constants | immediates | functions as values | static buffers.
struct Program {
  struct Func {
    const FunctionInfo *info;
    uint32_t start = 0, end = 0, num_args = 0, num_registers = 0;
    uint32_t planned_start = start;  // of the planned code, if there is one
    std::vector<uint32_t> places;    // static buffers that the planned code uses
    std::vector<uint8_t> borrowed;  // parameters that no instruction but null_value writes: the caller keeps them alive
    bool all_borrowed = true;
  };

  Ref<Executable> executable;
  std::vector<Instr> code;             // one per instruction of the executable, then the planned code
  std::vector<uint32_t> planned_from;  // per planned instruction: its index in the executable
  std::vector<uint32_t> callee_of;     // per instruction of the executable: the function table's index, for names
  std::vector<Func> functions;         // by index of the function table; `info` is null for packed functions
  std::unordered_map<std::string_view, uint32_t> index_of;  // functions of the program, by name
  std::vector<Ref<Function>> callees;       // by index of the function table; null for functions in bytecode
  std::vector<Ref<KernelFunction>> bodies;  // by index of the function table: machine code of compiled functions
  std::vector<View> constants;              // borrowed from the executable, then immediates
  std::vector<uint32_t> function_values;    // function table indexes; their registers follow the constants
  std::vector<std::unique_ptr<TensorTemplate>> templates;
  std::vector<StaticBuffer> places;
  std::vector<StorageKind> storage_kinds;  // by size class
  uint32_t num_registers = 0, max_args = 0, num_static_buffer_registers = 0;
  bool has_packed = false;

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

  // `find` returns a packed function by name, or null; one error names all that are missing. `value_of` returns the
  // value of a compiled function of the program, by index.
  using Find = std::function<Ref<Function>(const std::string &)>;
  static std::unique_ptr<Program> decode(Ref<Executable> executable, const Find &find,
                                         const std::function<Ref<Function>(uint32_t)> &value_of);

 private:
  std::unique_ptr<uint32_t[]> arg_store_;
  std::vector<std::unique_ptr<uint32_t[]>> planned_args_;
  friend class Planner;
  friend class Decoder;
};

// Bytes that alloc_storage takes for a size given as a shape and a dtype; false if they do not fit 63 bits.
bool storage_bytes(std::span<const int64_t> size, DLDataType dtype, uint64_t &out_bytes);

}  // namespace opd
