// Infers the types of parameters from their checks and the types of results from the calls that make them. A register's
// type has the properties that the results of all calls that write it share, whichever path runs.
#include "program/value_type.h"

#include <optional>
#include <unordered_map>

#include "value/dtype.h"
#include "value/tensor.h"
#include "value/tvm_names.h"

namespace opd {
namespace {

constexpr int64_t kMaxRank = 64;
constexpr int kMaxDepth = 64;  // nesting limit for copies of copies and for tuples

// Returns the properties that both types share.
ValueType common(const ValueType &a, const ValueType &b) {
  if (a == b) return a;
  ValueType type;
  if (a.kind != b.kind) return type;
  type.kind = a.kind;
  if (a.dtype == b.dtype) type.dtype = a.dtype;
  if (a.has_shape && b.has_shape && a.sizes.size() == b.sizes.size()) {
    type.has_shape = true;
    for (size_t i = 0; i < a.sizes.size(); ++i)
      type.sizes.push_back(a.sizes[i] == b.sizes[i] ? a.sizes[i] : ValueType::Size());
  }
  if (a.has_items && b.has_items && a.items.size() == b.items.size()) {
    type.has_items = true;
    for (size_t i = 0; i < a.items.size(); ++i) type.items.push_back(common(a.items[i], b.items[i]));
  }
  return type;
}

// Reads the types of one program's functions. Gives up ("any") if a hostile program would take too long.
class TypeReader {
 public:
  explicit TypeReader(const Executable &executable)
      : x_(executable), budget_(4096 + 8 * static_cast<int64_t>(executable.offsets.size())) {}

  FunctionTypes read(const FunctionInfo &f) {
    FunctionTypes types;
    if (f.kind == FunctionKind::kPacked) return types;
    types.params.resize(static_cast<size_t>(f.num_args));
    if (f.kind != FunctionKind::kBytecode) return types;
    for (int64_t pc = f.start; pc < f.end; ++pc) {
      const Instruction in = x_.instruction(static_cast<size_t>(pc));
      if (in.op != Opcode::kCall || in.args.empty()) continue;
      const Operand first{in.args[0]};
      if (first.kind() != Operand::kRegister || first.value() >= f.num_args) continue;
      const std::string_view callee = x_.functions[static_cast<size_t>(in.target)].name;
      if (callee.starts_with(kBuiltinPrefix))
        read_check(callee.substr(kBuiltinPrefix.size()), in.args, types.params[static_cast<size_t>(first.value())]);
    }
    types.result = result_of(f, types.params);
    return types;
  }

 private:
  using Args = std::span<const int64_t>;

  // ---- checks of parameters at the start of the function

  void read_check(std::string_view callee, Args args, ValueType &type) const {
    if (callee == "check_tensor_info") {
      type.kind = "tensor";
      if (args.size() == 4) read_dtype(args, 2, type);
      if (!type.has_shape) set_rank(integer(args, 1), type);
    } else if (callee == "check_shape_info") {
      type.kind = "shape";
      if (!type.has_shape) set_rank(integer(args, 1), type);
    } else if (callee == "check_tuple_info") {
      type.kind = "tuple";
    } else if (callee == "check_prim_value_info") {
      read_dtype(args, 1, type);
      type.kind = type.dtype.starts_with("float") || type.dtype.starts_with("bfloat") ? "float" : "int";
    } else if (callee == "check_func_info") {
      type.kind = "function";
    } else if (callee == "check_string_info") {
      type.kind = "string";
    } else if (callee == "match_shape") {
      const int64_t rank = integer(args, 2);
      if (rank < 0 || args.size() != 4 + 2 * static_cast<size_t>(rank)) return;
      type.has_shape = true;
      type.sizes.resize(static_cast<size_t>(rank));
      for (size_t i = 0; i < type.sizes.size(); ++i)
        if (const auto size = size_at(args, 3 + 2 * i); size.kind != ValueType::Size::kUnknown) type.sizes[i] = size;
    } else if (callee == "match_prim_value") {
      type.kind = "int";
      if (const auto size = size_at(args, 2); size.kind == ValueType::Size::kSlot) type.number = size;
    }
  }

  // null if the argument is absent or no constant
  const View *constant(Args args, size_t i) const {
    if (i >= args.size() || Operand{args[i]}.kind() != Operand::kConstant) return nullptr;
    return &x_.constants[static_cast<size_t>(Operand{args[i]}.value())].view();
  }

  void read_dtype(Args args, size_t i, ValueType &type) const {
    const View *v = constant(args, i);
    if (v && v->type == OPD_DTYPE) type.dtype = dtype_name(v->u.dtype);
  }

  void set_rank(int64_t rank, ValueType &type) const {
    if (rank < 0 || rank >= kMaxRank) return;
    type.has_shape = true;
    type.sizes.assign(static_cast<size_t>(rank), {});
  }

  // Reads a code and its operand. If the code is 0, the operand is the size. If it is 1 or 3, the operand is a slot of
  // the heap. In make_shape, 0 and 1 have the same meaning.
  ValueType::Size size_at(Args args, size_t i) const {
    const int64_t code = integer(args, i), operand = integer(args, i + 1);
    if (operand < 0) return {};
    if (code == 0) return {ValueType::Size::kFixed, operand};
    if (code == 1 || code == 3) return {ValueType::Size::kSlot, operand};
    return {};
  }

  // -1 if unknown
  int64_t integer(Args args, size_t i) const {
    if (i < args.size() && Operand{args[i]}.kind() == Operand::kImmediate) return Operand{args[i]}.value();
    const View *v = constant(args, i);
    return v && v->type == OPD_INT ? v->u.int64 : -1;
  }

  // ---- the types of the returned registers

  ValueType result_of(const FunctionInfo &f, const std::vector<ValueType> &params) {
    params_ = &params;
    writes_.clear();
    resets_items_ = false;
    std::optional<ValueType> result;
    for (int64_t pc = f.start; pc < f.end; ++pc) {
      const Instruction in = x_.instruction(static_cast<size_t>(pc));
      if (in.op != Opcode::kCall) continue;
      if (in.reg < kVoidRegister) writes_[in.reg].push_back(pc);
      resets_items_ |= x_.functions[static_cast<size_t>(in.target)].name == "vm.builtin.tuple_reset_item";
    }
    for (int64_t pc = f.start; pc < f.end; ++pc) {
      const Instruction in = x_.instruction(static_cast<size_t>(pc));
      if (in.op != Opcode::kRet) continue;
      ValueType type = of_register(in.reg, 0);
      result = result ? common(*result, type) : std::move(type);
    }
    return std::move(result).value_or(ValueType());
  }

  ValueType of_register(int64_t reg, int depth) {
    ValueType none;
    none.kind = "none";
    if (reg == kVoidRegister) return none;
    if (depth > kMaxDepth || --budget_ < 0) return {};
    std::optional<ValueType> type;
    if (static_cast<uint64_t>(reg) < params_->size()) type = (*params_)[static_cast<size_t>(reg)];
    const auto writes = writes_.find(reg);
    if (writes == writes_.end()) return type.value_or(ValueType());
    for (const int64_t pc : writes->second) {
      ValueType written = of_call(x_.instruction(static_cast<size_t>(pc)), depth + 1);
      type = type ? common(*type, written) : std::move(written);
      if (type->kind == "any") break;
    }
    return std::move(*type);
  }

  ValueType of_operand(Args args, size_t i, int depth) {
    if (i >= args.size()) return {};
    const Operand operand{args[i]};
    if (operand.kind() == Operand::kRegister) return of_register(operand.value(), depth);
    ValueType type;
    if (operand.kind() == Operand::kConstant) return --budget_ < 0 ? type : of_constant(operand.value());
    type.kind = operand.kind() == Operand::kImmediate ? "int" : "function";
    return type;
  }

  ValueType of_call(const Instruction &call, int depth) {
    std::string_view callee = x_.functions[static_cast<size_t>(call.target)].name;
    ValueType type;
    if (!callee.starts_with(kBuiltinPrefix)) return type;
    callee.remove_prefix(kBuiltinPrefix.size());
    const Args args = call.args;
    if (callee == "copy" || callee == "to_device" || callee == "ensure_zero_offset") return of_operand(args, 0, depth);
    if (callee == "alloc_tensor" || callee == "reshape") {
      const bool is_new = callee == "alloc_tensor";
      const ValueType shape = of_operand(args, is_new ? 2 : 1, depth);
      type.kind = "tensor";
      if (is_new) read_dtype(args, 3, type);
      else type.dtype = of_operand(args, 0, depth).dtype;
      type.has_shape = shape.has_shape;
      type.sizes = shape.sizes;
    } else if (callee == "make_shape") {
      type.kind = "shape";
      set_rank(integer(args, 1), type);
      for (size_t i = 0; i < type.sizes.size(); ++i) type.sizes[i] = size_at(args, 2 + 2 * i);
    } else if (callee == "shape_of" || callee == "tensor_to_shape") {
      type.kind = "shape";
    } else if (callee == "make_prim_value") {
      type.kind = "int";
      type.number = size_at(args, 1);
    } else if (callee == "make_tuple") {
      type.kind = "tuple";
      type.has_items = true;
      for (size_t i = 0; i < args.size(); ++i)
        type.items.push_back(resets_items_ ? ValueType() : of_operand(args, i, depth));
    } else if (callee == "tuple_getitem") {
      const ValueType tuple = of_operand(args, 0, depth);
      if (const int64_t i = integer(args, 1); i >= 0 && static_cast<uint64_t>(i) < tuple.items.size())
        return tuple.items[static_cast<size_t>(i)];
    } else if (callee == "make_closure") {
      type.kind = "function";
    } else if (callee == "null_value") {
      type.kind = "none";
    }
    return type;
  }

  ValueType of_constant(int64_t index) const {
    const View &v = x_.constants[static_cast<size_t>(index)];
    ValueType type;
    const auto set_sizes = [&](std::span<const int64_t> dims) {
      type.has_shape = true;
      for (const int64_t size : dims) type.sizes.push_back({ValueType::Size::kFixed, size});
    };
    type.kind = constant_kind(v);
    if (v.type == OPD_TENSOR) {
      const DLTensor &tensor = static_cast<Tensor *>(object_of(v))->dl;
      type.dtype = dtype_name(tensor.dtype);
      set_sizes(dims_of(tensor));
    } else if (v.type == OPD_SHAPE) {
      set_sizes(static_cast<Shape *>(object_of(v))->dims());
    }
    return type;
  }

  const Executable &x_;
  const std::vector<ValueType> *params_ = nullptr;
  std::unordered_map<int64_t, std::vector<int64_t>> writes_;  // register → calls that write it
  bool resets_items_ = false;                                 // the function changes tuples
  int64_t budget_;                                            // number of values to look at, for all functions together
};

}  // namespace

const char *constant_kind(const View &constant) {
  if (is_text(constant)) return "string";
  if (constant.type == OPD_TENSOR) return "tensor";
  if (constant.type == OPD_SHAPE) return "shape";
  if (constant.type == OPD_DTYPE) return "dtype";
  return constant.type == OPD_FLOAT ? "float" : "int";
}

std::vector<FunctionTypes> types_of(const Executable &executable, std::span<const FunctionInfo> functions) {
  TypeReader reader(executable);
  std::vector<FunctionTypes> types;
  for (const auto &function : functions) types.push_back(reader.read(function));
  return types;
}

}  // namespace opd
