#include "program/value_type.h"

#include "value/dtype.h"

namespace opd {
namespace {

constexpr std::string_view kPrefix = "vm.builtin.";
constexpr int64_t kMaxRank = 64;

}  // namespace

TypeReader::Types TypeReader::read(const FunctionInfo &f) {
  Types types;
  types.params.resize(static_cast<size_t>(f.num_args));
  if (f.kind != FunctionKind::kBytecode) return types;
  for (int64_t pc = f.start; pc < f.end; ++pc) {
    const Instruction in = x_.instruction(static_cast<size_t>(pc));
    if (in.op != Opcode::kCall || in.args.empty()) continue;
    const Operand first{in.args[0]};
    if (first.kind() != Operand::kRegister || first.value() >= f.num_args) continue;
    const std::string_view callee = x_.functions[static_cast<size_t>(in.target)].name;
    if (callee.starts_with(kPrefix))
      read_check(callee.substr(kPrefix.size()), in.args, types.params[static_cast<size_t>(first.value())]);
  }
  types.result = result_of(f, types.params);
  return types;
}

void TypeReader::read_check(std::string_view callee, Args args, ValueType &type) const {
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

void TypeReader::set_rank(int64_t rank, ValueType &type) const {
  if (rank < 0 || rank >= kMaxRank) return;
  type.has_shape = true;
  type.sizes.assign(static_cast<size_t>(rank), {});
}

// If the code is 0, the operand is the size. If it is 1 or 3, the operand is a slot of the heap. In make_shape, 0 and 1
// have the same meaning.
ValueType::Size TypeReader::size_at(Args args, size_t i) const {
  const int64_t code = integer(args, i), operand = integer(args, i + 1);
  if (operand < 0) return {};
  if (code == 0) return {ValueType::Size::kFixed, operand};
  if (code == 1 || code == 3) return {ValueType::Size::kSlot, operand};
  return {};
}

int64_t TypeReader::integer(Args args, size_t i) const {
  if (i >= args.size()) return -1;
  const Operand operand{args[i]};
  if (operand.kind() == Operand::kImmediate) return operand.value();
  if (operand.kind() != Operand::kConstant) return -1;
  const View &v = x_.constants[static_cast<size_t>(operand.value())];
  return v.type == OPD_INT ? v.u.int64 : -1;
}

void TypeReader::read_dtype(Args args, size_t i, ValueType &type) const {
  if (i >= args.size()) return;
  const Operand operand{args[i]};
  if (operand.kind() != Operand::kConstant) return;
  const View &v = x_.constants[static_cast<size_t>(operand.value())];
  if (v.type == OPD_DTYPE) type.dtype = dtype_name(v.u.dtype);
}

}  // namespace opd
