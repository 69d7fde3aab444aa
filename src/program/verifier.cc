// Refuses programs that could read, write or jump out of bounds. The verifier runs once, before any part of the program
// executes.
#include <algorithm>

#include "program/executable.h"

namespace opd {
namespace {

constexpr int64_t kMaxRegisters = int64_t{1} << 20;

class Verifier {
 public:
  explicit Verifier(const Executable &executable)
      : x_(executable), num_instructions_(static_cast<int64_t>(executable.offsets.size())) {}

  void run() {
    check_scopes();
    check_layout();
    for (const auto &function : x_.functions) check_header(function);
    check_ranges();
    for (const auto &function : x_.functions)
      if (function.kind == FunctionKind::kBytecode) check_body(function);
  }

 private:
  template <class... Parts>
  [[noreturn]] void bad(const Parts &...parts) const {
    fail(OPD_BAD_FORMAT, "executable: ", parts...);
  }

  template <class... Parts>
  [[noreturn]] void bad_at(const FunctionInfo &function, int64_t pc, const Parts &...parts) const {
    bad("function ", function.name, ", instruction ", pc, " (word ", x_.offsets[static_cast<size_t>(pc)], ") ",
        parts...);
  }

  void check_scopes() const {
    for (const auto &scope : x_.scopes)
      if (scope.constant < 0 || static_cast<uint64_t>(scope.constant) >= x_.constants.size())
        bad("a memory scope names constant ", scope.constant, " of ", x_.constants.size());
  }

  // Checks that every instruction lies within the words and after the previous one, even outside of functions. So the
  // number of words limits the number of all arguments.
  void check_layout() const {
    const auto total = static_cast<int64_t>(x_.words.size());
    int64_t end = 0;
    for (int64_t pc = 0; pc < num_instructions_; ++pc) {
      const int64_t at = x_.offsets[static_cast<size_t>(pc)];
      if (at < 0 || at >= total) bad("instruction ", pc, " starts at word ", at, " of ", total);
      if (at < end) bad("instruction ", pc, " starts at word ", at, ", inside the one before it, which ends at ", end);
      const int64_t *w = &x_.words[static_cast<size_t>(at)];
      const int64_t room = total - at;
      int64_t size;
      switch (static_cast<Opcode>(w[0])) {
        case Opcode::kCall:
          if (room >= 4 && (w[3] < 0 || w[3] > UINT16_MAX)) bad("instruction ", pc, " passes ", w[3], " arguments");
          size = room >= 4 ? 4 + w[3] : 4;
          break;
        case Opcode::kRet:
        case Opcode::kGoto:
          size = 2;
          break;
        case Opcode::kIf:
          size = 3;
          break;
        default:
          bad("instruction ", pc, " at word ", at, " has the unknown opcode ", w[0]);
      }
      if (size > room) bad("instruction ", pc, " at word ", at, " takes ", size, " words, ", room, " remain");
      end = at + size;
    }
  }

  void check_header(const FunctionInfo &f) const {
    const auto holds_nul = [](const std::string &name) {
      return name.find('\0') != std::string::npos;
    };  // not a C string
    if (holds_nul(f.name) || std::ranges::any_of(f.param_names, holds_nul))
      // c_str() cuts the name at the NUL byte, where the message would otherwise end
      bad("function ", f.name.c_str(), " or one of its parameters has a NUL byte in its name");
    if (f.kind == FunctionKind::kPacked) return;
    if (f.num_args < 0 || f.num_registers < f.num_args || f.num_registers > kMaxRegisters)
      bad("function ", f.name, " has ", f.num_args, " arguments and ", f.num_registers, " registers");
    if (!f.param_names.empty() && static_cast<int64_t>(f.param_names.size()) != f.num_args)
      bad("function ", f.name, " names ", f.param_names.size(), " parameters and takes ", f.num_args);
    if (f.kind == FunctionKind::kTir) return;
    if (f.start < 0 || f.end <= f.start || f.end > num_instructions_)
      bad("function ", f.name, " covers instructions ", f.start, " to ", f.end, " of ", num_instructions_);
  }

  // An instruction belongs to one function only, because its decoded form may be wrong in another.
  void check_ranges() const {
    const auto by_start = x_.bytecode_by_start();
    for (size_t i = 1; i < by_start.size(); ++i)
      if (by_start[i]->start < by_start[i - 1]->end)
        bad("functions ", by_start[i - 1]->name, " and ", by_start[i]->name, " share instruction ", by_start[i]->start);
  }

  void check_body(const FunctionInfo &f) const {
    for (int64_t pc = f.start; pc < f.end; ++pc) check_instruction(f, pc);
    const Opcode last = x_.instruction(static_cast<size_t>(f.end - 1)).op;
    if (last != Opcode::kRet && last != Opcode::kGoto) bad_at(f, f.end - 1, "is the last, but does not return");
  }

  void check_instruction(const FunctionInfo &f, int64_t pc) const {
    const Instruction in = x_.instruction(static_cast<size_t>(pc));
    switch (in.op) {
      case Opcode::kCall:
        return check_call(f, pc, in);
      case Opcode::kRet:
        return check_read(f, pc, in.reg);
      case Opcode::kGoto:
        return check_jump(f, pc, in.target);
      case Opcode::kIf:
        check_read(f, pc, in.reg);
        if (in.target <= 1) bad_at(f, pc, "jumps by ", in.target, " if false; a forward jump of at least 2 is needed");
        return check_jump(f, pc, in.target);
    }
  }

  void check_call(const FunctionInfo &f, int64_t pc, const Instruction &in) const {
    // If the destination is the void register or above, the result is discarded.
    if (in.reg < 0 || (in.reg >= f.num_registers && in.reg < kVoidRegister))
      bad_at(f, pc, "writes register ", in.reg, " of ", f.num_registers);
    if (in.target < 0 || static_cast<uint64_t>(in.target) >= x_.functions.size())
      bad_at(f, pc, "calls function ", in.target, " of ", x_.functions.size());
    const FunctionInfo &callee = x_.functions[static_cast<size_t>(in.target)];
    if (callee.kind != FunctionKind::kPacked && callee.num_args != static_cast<int64_t>(in.args.size()))
      bad_at(f, pc, "calls ", callee.name, " with ", in.args.size(), " arguments; it takes ", callee.num_args);
    for (const int64_t word : in.args) {
      const Operand operand{word};
      const int64_t value = operand.value();
      switch (operand.kind()) {
        case Operand::kRegister:
          check_read(f, pc, value);
          break;
        case Operand::kImmediate:
          break;
        case Operand::kConstant:
          if (value < 0 || static_cast<uint64_t>(value) >= x_.constants.size())
            bad_at(f, pc, "reads constant ", value, " of ", x_.constants.size());
          break;
        case Operand::kFunction:
          if (value < 0 || static_cast<uint64_t>(value) >= x_.functions.size())
            bad_at(f, pc, "names function ", value, " of ", x_.functions.size());
          break;
        default:
          bad_at(f, pc, "has an operand of unknown kind ", operand.kind());
      }
    }
  }

  void check_read(const FunctionInfo &f, int64_t pc, int64_t reg) const {
    if ((reg < 0 || reg >= f.num_registers) && reg != kVoidRegister && reg != kVmRegister)
      bad_at(f, pc, "reads register ", reg, " of ", f.num_registers);
  }

  void check_jump(const FunctionInfo &f, int64_t pc, int64_t offset) const {
    int64_t target;
    if (__builtin_add_overflow(pc, offset, &target) || target < f.start || target >= f.end)
      bad_at(f, pc, "jumps by ", offset, " out of the function's instructions ", f.start, " to ", f.end);
  }

  const Executable &x_;
  const int64_t num_instructions_;
};

}  // namespace

void verify(const Executable &executable) { Verifier(executable).run(); }

}  // namespace opd
