// What a program tells about itself: functions, what they check of their parameters, what they need, constants.
#include <map>

#include "base/json_writer.h"
#include "value/dtype.h"
#include "value/tensor.h"
#include "vm/executable.h"

namespace opd {
namespace {

struct Parameter {
  const char *kind = "any";
  std::string dtype;
  bool has_shape = false;
  std::vector<std::pair<bool, int64_t>> dims;  // symbolic slot of the heap, or size; -1: not checked
  int64_t symbol = -1;                         // of an integer
};

class Description {
 public:
  explicit Description(const Executable &x) : x_(x) {}

  std::string run() {
    json_.begin_object().key("functions").begin_array();
    for (const auto &function : x_.functions)
      if (function.kind != FunctionKind::kPacked) describe(function);
    json_.end_array().key("packed").begin_array();
    for (const auto &function : x_.functions)
      if (function.kind == FunctionKind::kPacked) json_.value(function.name);
    json_.end_array().key("constants").begin_array();
    for (const auto &constant : x_.constants) describe(constant);
    json_.end_array().end_object();
    return json_.take();
  }

 private:
  void describe(const FunctionInfo &f) {
    std::vector<Parameter> parameters(static_cast<size_t>(f.num_args));
    if (f.kind == FunctionKind::kBytecode) read_checks(f, parameters);
    name_symbols(parameters);
    json_.begin_object().key("name").value(f.name).key("kind").value(f.kind == FunctionKind::kBytecode ? "bytecode"
                                                                                                       : "compiled");
    json_.key("params").begin_array();
    for (size_t i = 0; i < parameters.size(); ++i)
      describe(i < f.param_names.size() ? f.param_names[i] : concat("param_", i), parameters[i]);
    json_.end_array().key("registers").value(f.num_registers).key("instructions").value(f.end - f.start).end_object();
  }

  void describe(const std::string &name, const Parameter &p) {
    json_.begin_object().key("name").value(name).key("kind").value(p.kind);
    if (!p.dtype.empty()) json_.key("dtype").value(p.dtype);
    if (p.has_shape) {
      json_.key("shape").begin_array();
      for (const auto &[symbolic, value] : p.dims) {
        if (symbolic) json_.value(symbols_[value]);
        else if (value < 0) json_.raw("null");
        else json_.value(value);
      }
      json_.end_array();
    }
    if (p.symbol >= 0) json_.key("symbol").value(symbols_[p.symbol]);
    json_.end_object();
  }

  void describe(const View &constant) {
    const char *kind = is_text(constant)             ? "string"
                       : constant.type == OPD_TENSOR ? "tensor"
                       : constant.type == OPD_SHAPE  ? "shape"
                       : constant.type == OPD_DTYPE  ? "dtype"
                       : constant.type == OPD_FLOAT  ? "float"
                                                     : "int";
    json_.begin_object().key("kind").value(kind).key("value").value(to_text(constant));
    if (constant.type == OPD_TENSOR) json_.key("bytes").value(bytes_of(static_cast<Tensor *>(object_of(constant))->dl));
    json_.end_object();
  }

  // One symbolic size is called n; several are n0, n1 … in the order of their slots.
  void name_symbols(const std::vector<Parameter> &parameters) {
    symbols_.clear();
    for (const auto &p : parameters) {
      for (const auto &[symbolic, value] : p.dims)
        if (symbolic) symbols_[value];
      if (p.symbol >= 0) symbols_[p.symbol];
    }
    size_t next = 0;
    for (auto &[slot, name] : symbols_) name = symbols_.size() == 1 ? "n" : concat("n", next++);
  }

  void read_checks(const FunctionInfo &f, std::vector<Parameter> &parameters) {
    for (int64_t pc = f.start; pc < f.end; ++pc) {
      const Instruction in = x_.instruction(static_cast<size_t>(pc));
      if (in.op != Opcode::kCall || in.args.empty()) continue;
      const Operand first{in.args[0]};
      if (first.kind() != Operand::kRegister || first.value() >= f.num_args) continue;
      read_check(x_.functions[static_cast<size_t>(in.target)].name, in.args,
                 parameters[static_cast<size_t>(first.value())]);
    }
  }

  void read_check(std::string_view callee, std::span<const int64_t> args, Parameter &p) const {
    constexpr std::string_view kPrefix = "vm.builtin.";
    if (!callee.starts_with(kPrefix)) return;
    callee.remove_prefix(kPrefix.size());
    if (callee == "check_tensor_info") {
      p.kind = "tensor";
      if (args.size() == 4) read_dtype(args[2], p);
      if (const int64_t rank = integer(args, 1); !p.has_shape && rank >= 0 && rank < 64) set_shape(p, rank);
    } else if (callee == "check_shape_info") {
      p.kind = "shape";
      if (const int64_t rank = integer(args, 1); !p.has_shape && rank >= 0 && rank < 64) set_shape(p, rank);
    } else if (callee == "check_tuple_info") {
      p.kind = "tuple";
    } else if (callee == "check_prim_value_info") {
      if (args.size() > 1) read_dtype(args[1], p);
      p.kind = p.dtype.starts_with("float") || p.dtype.starts_with("bfloat") ? "float" : "int";
    } else if (callee == "check_func_info") {
      p.kind = "function";
    } else if (callee == "check_string_info") {
      p.kind = "string";
    } else if (callee == "match_shape") {
      const int64_t rank = integer(args, 2);
      if (rank < 0 || args.size() != 4 + 2 * static_cast<size_t>(rank)) return;
      set_shape(p, rank);
      for (int64_t i = 0; i < rank; ++i)
        read_size(args, static_cast<size_t>(3 + 2 * i), p.dims[static_cast<size_t>(i)]);
    } else if (callee == "match_prim_value") {
      const int64_t code = integer(args, 2);
      p.kind = "int";
      if (code == 1 || code == 3) p.symbol = integer(args, 3);
    }
  }

  static void set_shape(Parameter &p, int64_t rank) {
    p.has_shape = true;
    p.dims.assign(static_cast<size_t>(rank), {false, -1});
  }

  void read_size(std::span<const int64_t> args, size_t at, std::pair<bool, int64_t> &out) const {
    const int64_t code = integer(args, at), operand = integer(args, at + 1);
    if (code == 0) out = {false, operand};
    if ((code == 1 || code == 3) && operand >= 0) out = {true, operand};
  }

  int64_t integer(std::span<const int64_t> args, size_t i) const {  // -1 if it is not known
    if (i >= args.size()) return -1;
    const Operand operand{args[i]};
    if (operand.kind() == Operand::kImmediate) return operand.value();
    if (operand.kind() != Operand::kConstant) return -1;
    const View &v = x_.constants[static_cast<size_t>(operand.value())];
    return v.type == OPD_INT ? v.u.int64 : -1;
  }

  void read_dtype(int64_t word, Parameter &p) const {
    const Operand operand{word};
    if (operand.kind() != Operand::kConstant) return;
    const View &v = x_.constants[static_cast<size_t>(operand.value())];
    if (v.type == OPD_DTYPE) p.dtype = dtype_name(v.u.dtype);
  }

  const Executable &x_;
  JsonWriter json_;
  std::map<int64_t, std::string> symbols_;
};

}  // namespace

std::string Executable::to_json() const { return Description(*this).run(); }

}  // namespace opd
