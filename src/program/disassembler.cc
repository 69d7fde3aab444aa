// Converts an executable to text that assembles to the same program, see docs/assembly.md.
#include <bit>
#include <charconv>
#include <cmath>
#include <set>

#include "base/bytes.h"
#include "base/json_writer.h"
#include "program/executable.h"
#include "value/tensor.h"

namespace opd {
namespace {

void append_quoted(std::string &out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') out += concat('\\', c);
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (byte < 0x20 || byte == 0x7F) out += concat("\\x", hex({&byte, 1}));
    else out += c;
  }
  out += '"';
}

std::string name_text(std::string_view name) {
  if (is_plain_name(name)) return std::string(name);
  std::string out;
  append_quoted(out, name);
  return out;
}

void append_double(std::string &out, double value) {
  if (!std::isnan(value)) return append(out, value);
  char digits[17];
  out += "0x";
  out.append(digits, std::to_chars(digits, digits + sizeof digits, std::bit_cast<uint64_t>(value), 16).ptr);
}

void append_constant(std::string &out, const View &v) {
  if (is_text(v)) return append_quoted(out, as_text(v, "constant"));
  if (const auto *shape = try_as<Shape>(v)) return append(out, concat("shape(", joined(shape->dims()), ")"));
  if (v.type == OPD_DTYPE) return append(out, concat("dtype(", name_text(dtype_name(v.u.dtype)), ")"));
  if (v.type == OPD_FLOAT) {
    out += "f64(";
    append_double(out, v.u.float64);
    return append(out, ')');
  }
  if (v.type != OPD_TENSOR) return append(out, concat("i64(", v.u.int64, ")"));
  const DLTensor &t = static_cast<Tensor *>(object_of(v))->dl;
  out += concat("tensor(", name_text(dtype_name(t.dtype)), ", (", joined(dims_of(t)), "), 0x",
                hex({reinterpret_cast<const uint8_t *>(data_of(t)), bytes_of(t)}), ")");
}

class Disassembler {
 public:
  explicit Disassembler(const Executable &x) : x_(x) {}

  std::string run() {
    out_ = ".executable \"0.14\"\n";
    for (const auto &function : x_.functions) out_ += concat(".declare ", name_text(function.name), "\n");
    for (size_t i = 0; i < x_.constants.size(); ++i) constant(i);
    for (const auto &scope : x_.scopes) {
      out_ += concat(".scope c[", scope.constant, "] ");
      append_quoted(out_, scope.scope);
      out_ += '\n';
    }
    for (const auto &function : x_.functions)
      if (function.kind == FunctionKind::kTir)
        out_ += concat("; ", name_text(function.name), " is compiled: its body lies in the library\n");
    for (const auto *function : x_.bytecode_by_start()) body(*function);
    return std::move(out_);
  }

 private:
  void constant(size_t i) {
    std::string text;
    append_constant(text, x_.constants[i]);
    out_ += concat(".const = ", text, "  ; c[", i, "]\n");
    const bool is_first = x_.constants[i].type() != OPD_TENSOR && seen_.insert(text).second;
    constants_.push_back(is_first && text.size() <= 80 ? text : concat("c[", i, "]"));
  }

  void body(const FunctionInfo &f) {
    name_parameters(f);
    out_ += concat("\n.func ", name_text(f.name), "(");
    for (size_t i = 0; i < f.param_names.size(); ++i) out_ += concat(i ? ", " : "", name_text(f.param_names[i]));
    for (auto i = static_cast<int64_t>(f.param_names.size()); i < f.num_args; ++i)
      out_ += concat(i ? ", " : "", "param_", i);
    out_ += concat(") regs=", f.num_registers, " {\n");
    std::set<int64_t> targets;
    for (int64_t pc = f.start; pc < f.end; ++pc) {
      const Instruction in = x_.instruction(static_cast<size_t>(pc));
      if (in.op == Opcode::kGoto || in.op == Opcode::kIf) targets.insert(pc + in.target);
    }
    for (int64_t pc = f.start; pc < f.end; ++pc) {
      if (targets.count(pc)) out_ += concat("L", pc - f.start, ":\n");
      instruction(f, pc);
    }
    out_ += "}\n";
  }

  // Writes a parameter by its name if the assembler reads the name back as the same register.
  void name_parameters(const FunctionInfo &f) {
    params_.clear();
    std::set<std::string_view> used{"vm", "void"};
    for (size_t i = 0; i < f.param_names.size(); ++i) {
      const std::string &name = f.param_names[i];
      const bool usable = is_plain_name(name) && used.insert(name).second;
      params_.push_back(usable ? name : concat(i));
    }
  }

  std::string reg(int64_t r) const {
    if (r == kVmRegister) return "%vm";
    if (r >= kVoidRegister) return "%void";
    if (static_cast<size_t>(r) < params_.size()) return concat("%", params_[static_cast<size_t>(r)]);
    return concat("%", r);
  }

  void instruction(const FunctionInfo &f, int64_t pc) {
    const Instruction in = x_.instruction(static_cast<size_t>(pc));
    const auto target = [&] { return concat("L", pc + in.target - f.start, "\n"); };
    if (in.op == Opcode::kRet) out_ += concat("  ret ", reg(in.reg), "\n");
    if (in.op == Opcode::kGoto) out_ += concat("  goto ", target());
    if (in.op == Opcode::kIf) out_ += concat("  if ", reg(in.reg), " else ", target());
    if (in.op != Opcode::kCall) return;
    out_ += in.reg < kVoidRegister ? concat("  ", reg(in.reg), " = call ") : "  call ";
    std::vector<std::string> args;
    for (const int64_t word : in.args) args.push_back(operand({word}));
    out_ += concat(name_text(x_.functions[static_cast<size_t>(in.target)].name), "(", joined(args), ")\n");
  }

  std::string operand(Operand operand) const {
    const int64_t value = operand.value();
    if (operand.kind() == Operand::kRegister) return reg(value);
    if (operand.kind() == Operand::kImmediate) return concat(value);
    if (operand.kind() == Operand::kConstant) return constants_[static_cast<size_t>(value)];
    return concat("@", name_text(x_.functions[static_cast<size_t>(value)].name));
  }

  const Executable &x_;
  std::string out_;
  std::set<std::string> seen_;
  std::vector<std::string> constants_, params_;
};

}  // namespace

std::string Executable::to_assembly() const { return Disassembler(*this).run(); }

}  // namespace opd
