// Checks of arguments that a program makes: kind, rank, dtype.
#include "vm/builtins/builtins.h"

namespace opd {
namespace {

Ref<Error> wrong_kind(const View &error, const char *expected, const View &given) {
  return mismatch("TypeError", error, "expected ", expected, ", but got ", type_key(given.type));
}

Ref<Error> check_tensor_info(Args args) {
  check_count(args, 3, 4, "(x, ndim, [dtype,] error)");
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
  check_count(args, 3, 3, "(x, ndim, error)");
  const auto *shape = try_as<Shape>(args[0]);
  if (!shape) return wrong_kind(args[2], "a shape", args[0]);
  const int64_t ndim = as_int(args[1], "ndim");
  if (ndim >= 0 && static_cast<int64_t>(shape->size) != ndim)
    return mismatch("ValueError", args[2], "expected a shape of rank ", ndim, ", but got ", to_text(args[0]));
  return nullptr;
}

Ref<Error> check_tuple_info(Args args) {
  check_count(args, 3, 3, "(x, size, error)");
  const auto *array = try_as<Array>(args[0]);
  if (!array) return wrong_kind(args[2], "a tuple", args[0]);
  const int64_t size = as_int(args[1], "size");
  if (size >= 0 && static_cast<int64_t>(array->size()) != size)
    return mismatch("ValueError", args[2], "expected a tuple of ", size, ", but got one of ", array->size());
  return nullptr;
}

Ref<Error> check_prim_value_info(Args args) {
  check_count(args, 3, 3, "(x, dtype, error)");
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
  check_count(args, 2, 2, "(x, error)");
  if (!try_as<Function>(args[0])) return wrong_kind(args[1], "a function", args[0]);
  return nullptr;
}

Ref<Error> check_string_info(Args args) {
  check_count(args, 2, 2, "(x, error)");
  if (!is_text(args[0])) return wrong_kind(args[1], "a string", args[0]);
  return nullptr;
}

constexpr Builtin kCheckBuiltins[] = {
    builtin<"vm.builtin.check_tensor_info", check_tensor_info>(),
    builtin<"vm.builtin.check_shape_info", check_shape_info>(),
    builtin<"vm.builtin.check_tuple_info", check_tuple_info>(),
    builtin<"vm.builtin.check_prim_value_info", check_prim_value_info>(),
    builtin<"vm.builtin.check_func_info", check_func_info>(),
    builtin<"vm.builtin.check_string_info", check_string_info>(),
};

}  // namespace

std::span<const Builtin> check_builtins() { return kCheckBuiltins; }

}  // namespace opd
