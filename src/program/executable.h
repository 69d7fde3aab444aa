// A VM program as data: functions, constants and instruction words, in the terms of TVM's VMExecutable.
#pragma once
#include <opdyno/executable_builder.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "value/tvm_names.h"
#include "value/value.h"

namespace opd {

enum class FunctionKind : int32_t { kPacked = 0, kBytecode = 1, kTir = 2 };

struct FunctionInfo {
  FunctionKind kind = FunctionKind::kPacked;
  std::string name;
  int64_t start = 0, end = 0;  // instructions from `start` to before `end`
  int64_t num_args = -2;       // packed functions: -2, unknown
  int64_t num_registers = 0;
  std::vector<std::string> param_names;
};

enum class Opcode : int64_t { kCall = 1, kRet = 2, kGoto = 3, kIf = 4 };

inline constexpr int64_t kVoidRegister = OPD_REGISTER_VOID;
inline constexpr int64_t kVmRegister = OPD_REGISTER_VM;

// An argument word: its kind in the top 8 bits, a signed 56-bit value below.
struct Operand {
  enum Kind : int64_t { kRegister = 0, kImmediate = 1, kConstant = 2, kFunction = 3 };
  int64_t word = 0;
  int64_t kind() const { return static_cast<int64_t>(static_cast<uint64_t>(word) >> 56); }
  int64_t value() const { return static_cast<int64_t>(static_cast<uint64_t>(word) << 8) >> 8; }
  static Operand make(Kind kind, int64_t value) {
    return {static_cast<int64_t>(static_cast<uint64_t>(kind) << 56 |
                                 (static_cast<uint64_t>(value) & ((uint64_t{1} << 56) - 1)))};
  }
  static bool fits(int64_t value) { return value >= -(int64_t{1} << 55) && value < int64_t{1} << 55; }
};

struct Instruction {
  Opcode op;
  int64_t reg = 0;                // kCall: destination; kRet, kIf: the register to read
  int64_t target = 0;             // kCall: function index; kGoto, kIf: offset in instructions
  std::span<const int64_t> args;  // kCall: operand words
};

struct MemoryScope {
  int64_t constant;
  std::string scope;
};

struct SectionSizes {  // bytes of each part of write()'s result
  uint64_t header = 0, functions = 0, scopes = 0, constants = 0, code = 0;
};

struct Executable : Object {
  static int32_t type() { return registered_type<"opdyno.Executable">(); }

  std::vector<FunctionInfo> functions;
  std::vector<Value> constants;
  std::vector<MemoryScope> scopes;
  std::vector<int64_t> offsets;  // first word of each instruction
  std::vector<int64_t> words;
  // Only in users' handles of a loaded program: the program itself, and the modules with its kernels.
  Ref<Executable> loaded;
  std::vector<Ref<Object>> imports;

  // Requires verified instructions.
  Instruction instruction(size_t index) const {
    const int64_t *w = &words[static_cast<size_t>(offsets[index])];
    switch (static_cast<Opcode>(w[0])) {
      case Opcode::kCall:
        return {Opcode::kCall, w[1], w[2], {w + 4, static_cast<size_t>(w[3])}};
      case Opcode::kRet:
        return {Opcode::kRet, w[1], 0, {}};
      case Opcode::kGoto:
        return {Opcode::kGoto, 0, w[1], {}};
      default:
        return {Opcode::kIf, w[1], w[2], {}};
    }
  }
  Ref<Executable> copy() const;                           // without `loaded` and `imports`
  const FunctionInfo *find(std::string_view name) const;  // a function of the program; null if absent
  const FunctionInfo &get(std::string_view name) const;   // throws OPD_NOT_FOUND and suggests similar names
  [[noreturn]] void fail_missing(std::string_view name) const;
  std::vector<std::string> program_functions() const;
  std::vector<const FunctionInfo *> bytecode_by_start() const;

  // Verifies the program. Throws OPD_BAD_FORMAT. `*derived` is null or
  // holds the constants of an earlier load of the same program. It receives those of this load for the next one. If
  // `derived` itself is null, the constants are copied.
  static Ref<Executable> read(Bytes bytes, Ref<Object> *derived = nullptr);
  std::string write() const;
  SectionSizes section_sizes() const;
  std::string to_assembly() const;
  // verifies the program; throws OPD_BAD_FORMAT with line and column
  static Ref<Executable> assemble(std::string_view text);
  std::string to_json() const;
  std::string to_stats() const;
  std::string to_python() const;  // a script that builds the program with TVM
};

inline constexpr uint64_t kExecutableMagicV1 = 0xD225DE2F4214151D;  // TVM 0.22
inline constexpr uint64_t kExecutableMagicV2 = 0xD225DE2F4214151E;  // TVM 0.23 and newer

bool is_plain_name(std::string_view text);  // whether a name in assembly needs no quotes

// Throws OPD_BAD_FORMAT unless every index, range and jump of the program is valid, so that running it needs no checks.
void verify(const Executable &executable);

// Definite assignment: returns one entry per instruction of `function`. The entry is true if the instruction may read a
// register that was not written on some path to it. The interpreter checks only these reads.
std::vector<bool> unproved_reads(const Executable &executable, const FunctionInfo &function);

}  // namespace opd
