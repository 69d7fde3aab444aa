// Infers result types. A register's type has the properties that the results of all calls that write it share,
// whichever path runs.
#include <optional>

#include "program/value_type.h"
#include "value/dtype.h"
#include "value/tensor.h"

namespace opd {
namespace {

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

}  // namespace

ValueType TypeReader::result_of(const FunctionInfo &f, const std::vector<ValueType> &params) {
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

ValueType TypeReader::of_register(int64_t reg, int depth) {
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

ValueType TypeReader::of_operand(Args args, size_t i, int depth) {
  if (i >= args.size()) return {};
  const Operand operand{args[i]};
  ValueType type;
  switch (operand.kind()) {
    case Operand::kRegister:
      return of_register(operand.value(), depth);
    case Operand::kConstant:
      return --budget_ < 0 ? type : of_constant(operand.value());
    default:
      type.kind = operand.kind() == Operand::kImmediate ? "int" : "function";
      return type;
  }
}

ValueType TypeReader::of_constant(int64_t index) const {
  const View &v = x_.constants[static_cast<size_t>(index)];
  ValueType type;
  const auto set_sizes = [&](std::span<const int64_t> dims) {
    type.has_shape = true;
    for (const int64_t size : dims) type.sizes.push_back({ValueType::Size::kFixed, size});
  };
  if (is_text(v)) {
    type.kind = "string";
  } else if (v.type == OPD_TENSOR) {
    const DLTensor &tensor = static_cast<Tensor *>(object_of(v))->dl;
    type.kind = "tensor";
    type.dtype = dtype_name(tensor.dtype);
    set_sizes(dims_of(tensor));
  } else if (v.type == OPD_SHAPE) {
    type.kind = "shape";
    set_sizes(static_cast<Shape *>(object_of(v))->dims());
  } else {
    type.kind = v.type == OPD_DTYPE ? "dtype" : v.type == OPD_FLOAT ? "float" : "int";
  }
  return type;
}

ValueType TypeReader::of_call(const Instruction &call, int depth) {
  constexpr std::string_view kPrefix = "vm.builtin.";
  std::string_view callee = x_.functions[static_cast<size_t>(call.target)].name;
  ValueType type;
  if (!callee.starts_with(kPrefix)) return type;
  callee.remove_prefix(kPrefix.size());
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

}  // namespace opd
