// Describes a program for people: short statistics, and a Python script that rebuilds it with TVM's ExecBuilder.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/bytes.h"
#include "base/json_writer.h"
#include "program/executable.h"
#include "value/dtype.h"
#include "value/tensor.h"

namespace opd {
namespace {

std::string list_of(const std::vector<std::string_view> &names) { return names.empty() ? "none" : joined(names); }

// Returns a Python literal. Bytes that are not UTF-8 are written as Python's "surrogateescape" decodes them.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) out += concat("\\udc", hex({&byte, 1}));
    else if (byte < 0x20 || byte == 0x7F) out += concat("\\x", hex({&byte, 1}));
    else if (byte == '"' || byte == '\\') out += concat('\\', text[i]);
    else out += text.substr(i, length);
    i += std::max<size_t>(length, 1);
  }
  return out += '"';
}

class PythonListing {
 public:
  explicit PythonListing(const Executable &x) : x_(x) {}

  std::string run() {
    out_ = R"(# Rebuilds the program with TVM, as `executable`.
import ctypes

import tvm
from tvm import relax


def tensor(dtype, shape, data):
    made = tvm.runtime.empty(shape, dtype)
    copy = tvm.get_global_func("runtime.TVMTensorCopyFromBytes")
    copy(made, ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))
    return made


ib = relax.ExecBuilder()
)";
    for (const auto &function : x_.functions)
      out_ += concat("ib.declare_function(", quoted(function.name), ", ", static_cast<int>(function.kind), ")\n");
    constants();
    for (const auto *function : x_.bytecode_by_start()) body(*function);
    out_ += "executable = ib.get()\n";
    return std::move(out_);
  }

 private:
  void constants() {
    out_ += "c = [\n";
    for (const auto &constant : x_.constants) out_ += concat("    ib.convert_constant(", literal(constant), "),\n");
    out_ += "]\n";
  }

  static std::string literal(const View &v) {
    if (is_text(v)) return quoted(as_text(v, "constant"));
    if (const auto *shape = try_as<Shape>(v)) return concat("tvm.runtime.ShapeTuple([", joined(shape->dims()), "])");
    if (v.type == OPD_DTYPE) return concat("tvm.DataType(", quoted(dtype_name(v.u.dtype)), ")");
    if (v.type == OPD_FLOAT) {
      if (std::isfinite(v.u.float64)) return concat("float(", quoted(concat(v.u.float64)), ")");
      return std::isnan(v.u.float64) ? "float(\"nan\")" : v.u.float64 > 0 ? "float(\"inf\")" : "float(\"-inf\")";
    }
    if (v.type != OPD_TENSOR) return concat(v.u.int64);
    const DLTensor &t = static_cast<Tensor *>(object_of(v))->dl;
    return concat("tensor(", quoted(dtype_name(t.dtype)), ", [", joined(dims_of(t)), "], bytes.fromhex(\"",
                  hex({reinterpret_cast<const uint8_t *>(data_of(t)), bytes_of(t)}), "\"))");
  }

  void body(const FunctionInfo &f) {
    out_ += concat("with ib.function(", quoted(f.name), ", num_inputs=", f.num_args);
    if (!f.param_names.empty()) {
      out_ += ", param_names=[";
      for (size_t i = 0; i < f.param_names.size(); ++i) out_ += concat(i ? ", " : "", quoted(f.param_names[i]));
      out_ += ']';
    }
    out_ += "):\n";
    for (int64_t pc = f.start; pc < f.end; ++pc) instruction(x_.instruction(static_cast<size_t>(pc)));
  }

  void instruction(const Instruction &in) {
    if (in.op == Opcode::kRet) out_ += concat("    ib.emit_ret(", reg(in.reg), ")\n");
    if (in.op == Opcode::kGoto) out_ += concat("    ib.emit_goto(", in.target, ")\n");
    if (in.op == Opcode::kIf) out_ += concat("    ib.emit_if(", reg(in.reg), ", ", in.target, ")\n");
    if (in.op != Opcode::kCall) return;
    std::vector<std::string> args;
    for (const int64_t word : in.args) args.push_back(operand({word}));
    out_ += concat("    ib.emit_call(", quoted(x_.functions[static_cast<size_t>(in.target)].name), ", args=[",
                   joined(args), "]", in.reg < kVoidRegister ? concat(", dst=", reg(in.reg)) : "", ")\n");
  }

  static std::string reg(int64_t r) {
    if (r == kVmRegister) return "ib.vm_state()";
    return r == kVoidRegister ? "ib.void_arg()" : concat("ib.r(", r, ")");
  }

  std::string operand(Operand operand) const {
    if (operand.kind() == Operand::kRegister) return reg(operand.value());
    if (operand.kind() == Operand::kImmediate) return concat("ib.imm(", operand.value(), ")");
    if (operand.kind() == Operand::kConstant) return concat("c[", operand.value(), "]");
    return concat("ib.f(", quoted(x_.functions[static_cast<size_t>(operand.value())].name), ")");
  }

  const Executable &x_;
  std::string out_;
};

}  // namespace

std::string Executable::to_python() const { return PythonListing(*this).run(); }

std::string Executable::to_stats() const {
  std::array<std::vector<std::string_view>, 3> names;  // indexed by FunctionKind
  for (const auto &function : functions) names[static_cast<size_t>(function.kind)].push_back(function.name);
  std::array<size_t, 5> opcodes{};
  for (size_t i = 0; i < offsets.size(); ++i) ++opcodes[static_cast<size_t>(instruction(i).op)];
  std::array<std::string, 2> constants_text;  // sizes of tensors, other constants
  uint64_t tensor_bytes = 0;
  for (const View &constant : constants) {
    const bool is_tensor = constant.type == OPD_TENSOR;
    std::string &list = constants_text[is_tensor ? 0 : 1];
    list += concat(list.empty() ? "" : ", ", to_text(constant));
    if (is_tensor) tensor_bytes += bytes_of(static_cast<Tensor *>(object_of(constant))->dl);
  }
  const SectionSizes sizes = section_sizes();
  const auto &[packed, bytecode, compiled] = names;
  std::string out = "VM program:\n";
  out += concat("  bytecode functions (", bytecode.size(), "): ", list_of(bytecode), "\n");
  out += concat("  compiled functions (", compiled.size(), "): ", list_of(compiled), "\n");
  out += concat("  packed functions (", packed.size(), "): ", list_of(packed), "\n");
  out += concat("  instructions (", offsets.size(), "): ", opcodes[1], " call, ", opcodes[2], " ret, ", opcodes[3],
                " goto, ", opcodes[4], " if; ", sizes.code, " bytes\n");
  out += concat("  constants (", constants.size(), "): ", sizes.constants, " bytes, of which the data of tensors ",
                tensor_bytes, "\n");
  out += concat("    tensors: ", constants_text[0].empty() ? "none" : constants_text[0], "\n");
  out += concat("    others: ", constants_text[1].empty() ? "none" : constants_text[1], "\n");
  return out;
}

}  // namespace opd
