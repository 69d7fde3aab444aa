// Conditions, tuples, closures and calls through values, and checks of arguments that a program makes.
#include "device/device.h"
#include "vm/builtins/builtins.h"
#include "vm/builtins/tensor_args.h"
#include "vm/vm.h"

namespace opd {
namespace {

// Reads the integer in a tensor of one element, whatever its width.
bool scalar_is_true(const DLTensor &t) {
  const unsigned bytes = t.dtype.bits == 1 ? 1 : t.dtype.bits / 8;
  const bool integer = t.dtype.code == kDLInt || t.dtype.code == kDLUInt || t.dtype.code == kDLBool;
  require(count_of(t) == 1 && t.dtype.lanes == 1 && integer && bytes >= 1 && bytes <= 8,
          "a condition must be one integer or bool, but is ", describe(t));
  Ref<Tensor> copy;
  uint64_t value = 0;
  std::memcpy(&value, data_of(on_host(t, copy)), bytes);
  return value != 0;
}

Value read_if_cond(Args args) {
  if (const DLTensor *tensor = try_dltensor(args[0])) return scalar_is_true(*tensor);
  return as_int(args[0], "the condition") != 0;
}

Value &item_of(const View &tuple, const View &index) {
  auto &array = as<Array>(tuple, "tuple");
  const int64_t i = as_int(index, "index");
  if (i < 0 || static_cast<uint64_t>(i) >= array.size())
    fail(OPD_OUT_OF_RANGE, "item ", i, " of a tuple of ", array.size());
  return array.items()[i];
}

Value tuple_getitem(Args args) { return item_of(args[0], args[1]); }

Value tuple_reset_item(Args args) {  // resets in place, so that the item's memory is free before the tuple is
  item_of(args[0], args[1]) = Value();
  return {};
}

Value make_closure(Args args) { return make_object<ProgramClosure>(args); }

Value invoke_closure(Args args) {
  run_of(args[0]);
  return call(as<Function>(args[1], "closure"), args.subspan(2));
}

Value call_tir_dyn(Args args) {  // spreads the sizes in the last argument into integer arguments
  auto &function = as<Function>(args[0], "function");
  const auto &shape = as<Shape>(args.back(), "the last argument");
  std::vector<View> spread(args.begin() + 1, args.end() - 1);
  // The decoder has checked the call site: all arguments but the last are only read; the function writes the last one.
  for (size_t i = 0; i + 1 < spread.size(); ++i)
    if (const auto *tensor = try_as<Tensor>(spread[i]); tensor && is_read_only(*tensor))
      spread[i] = opd_dltensor(try_dltensor(spread[i]));
  for (const int64_t dim : shape.dims()) spread.push_back(opd_int(dim));
  return call(function, spread);
}

Value invoke_debug_func(Args args) {
  const auto function = global_function(as_text(args[1], "function name"));
  std::vector<View> rest{args[2]};
  rest.insert(rest.end(), args.begin() + 3, args.end());
  call(*function, rest);
  return Value(args[0]);
}

// ---- checks of arguments: kind, rank, dtype

Ref<Error> wrong_kind(const View &error, const char *expected, const View &given) {
  return mismatch("TypeError", error, "expected ", expected, ", but got ", type_key(given.type));
}

Ref<Error> check_tensor_info(Args args) {
  const View &error = args.back();
  const DLTensor *tensor = try_dltensor(args[0]);
  if (!tensor) return wrong_kind(error, "a tensor", args[0]);
  const int64_t ndim = as_int(args[1], "ndim");
  if (ndim >= 0 && tensor->ndim != ndim)
    return mismatch("ValueError", error, "expected a tensor of rank ", ndim, ", but got ", describe(*tensor));
  if (args.size() == 4 && args[2].type != OPD_NONE) {
    const DLDataType dtype = as_dtype(args[2], "dtype");
    const bool any = dtype.bits == 0 && dtype.lanes == 0;
    // TVM before 0.23 spelled bool as an unsigned bit.
    const auto is_bool = [](DLDataType d) {
      return (d.code == kDLBool && d.bits == 8) || (d.code == kDLUInt && d.bits == 1);
    };
    const bool both_bool = is_bool(dtype) && is_bool(tensor->dtype);
    if (!any && !both_bool && !same(dtype, tensor->dtype))
      return mismatch("ValueError", error, "expected a tensor of dtype ", dtype_name(dtype), ", but got ",
                      describe(*tensor));
  }
  return nullptr;
}

Ref<Error> check_shape_info(Args args) {
  const auto *shape = try_as<Shape>(args[0]);
  if (!shape) return wrong_kind(args[2], "a shape", args[0]);
  const int64_t ndim = as_int(args[1], "ndim");
  if (ndim >= 0 && static_cast<int64_t>(shape->size) != ndim)
    return mismatch("ValueError", args[2], "expected a shape of rank ", ndim, ", but got ", to_text(args[0]));
  return nullptr;
}

Ref<Error> check_tuple_info(Args args) {
  const auto *array = try_as<Array>(args[0]);
  if (!array) return wrong_kind(args[2], "a tuple", args[0]);
  const int64_t size = as_int(args[1], "size");
  if (size >= 0 && static_cast<int64_t>(array->size()) != size)
    return mismatch("ValueError", args[2], "expected a tuple of ", size, ", but got one of ", array->size());
  return nullptr;
}

Ref<Error> check_prim_value_info(Args args) {
  const DLDataType dtype = as_dtype(args[1], "dtype");
  const int32_t given = args[0].type;
  const bool integer = given == OPD_INT || given == OPD_BOOL;
  const bool ok = dtype.code == kDLFloat || dtype.code == kDLBfloat ? integer || given == OPD_FLOAT
                  : dtype.code == kDLOpaqueHandle                   ? given == OPD_POINTER || given == OPD_NONE
                                                                    : integer;
  if (!ok) return wrong_kind(args[2], dtype_name(dtype).c_str(), args[0]);
  return nullptr;
}

Ref<Error> check_func_info(Args args) {
  if (!try_as<Function>(args[0])) return wrong_kind(args[1], "a function", args[0]);
  return nullptr;
}

Ref<Error> check_string_info(Args args) {
  if (!is_text(args[0])) return wrong_kind(args[1], "a string", args[0]);
  return nullptr;
}

constexpr Builtin kControlBuiltins[] = {
    builtin<"vm.builtin.read_if_cond", read_if_cond, "(condition)", 1>(),
    builtin<"vm.builtin.make_tuple", Array::make, "(items …)", 0, SIZE_MAX>(),
    builtin<"vm.builtin.tuple_getitem", tuple_getitem, "(tuple, index)", 2>(),
    builtin<"vm.builtin.tuple_reset_item", tuple_reset_item, "(tuple, index)", 2>(),
    builtin<"vm.builtin.make_closure", make_closure, "(function, captured …)", 1, SIZE_MAX>(),
    builtin<"vm.builtin.invoke_closure", invoke_closure, "(vm, closure, arguments …)", 2, SIZE_MAX>(),
    builtin<"vm.builtin.call_tir_dyn", call_tir_dyn, "(function, arguments …, shape)", 2, SIZE_MAX>(),
    builtin<"vm.builtin.invoke_debug_func", invoke_debug_func, "(io, function name, line, arguments …)", 3, SIZE_MAX>(),
    builtin<"vm.builtin.check_tensor_info", check_tensor_info, "(x, ndim, [dtype,] error)", 3, 4>(),
    builtin<"vm.builtin.check_shape_info", check_shape_info, "(x, ndim, error)", 3>(),
    builtin<"vm.builtin.check_tuple_info", check_tuple_info, "(x, size, error)", 3>(),
    builtin<"vm.builtin.check_prim_value_info", check_prim_value_info, "(x, dtype, error)", 3>(),
    builtin<"vm.builtin.check_func_info", check_func_info, "(x, error)", 2>(),
    builtin<"vm.builtin.check_string_info", check_string_info, "(x, error)", 2>(),
};

}  // namespace

std::span<const Builtin> control_builtins() { return kControlBuiltins; }

}  // namespace opd
