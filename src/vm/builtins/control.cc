// Conditions, tuples, closures and calls through values.
#include "device/device.h"
#include "vm/builtins/builtins.h"
#include "vm/builtins/tensor_args.h"
#include "vm/program_closure.h"

namespace opd {
namespace {

// Reads the integer in a tensor of one element, whatever its width.
bool scalar_is_true(const DLTensor &t) {
  uint64_t count = 0;
  element_count(t.shape, t.ndim, count);
  const unsigned bytes = t.dtype.bits == 1 ? 1 : t.dtype.bits / 8;
  const bool integer = t.dtype.code == kDLInt || t.dtype.code == kDLUInt || t.dtype.code == kDLBool;
  require(count == 1 && t.dtype.lanes == 1 && integer && bytes >= 1 && bytes <= 8,
          "a condition must be one integer or bool, but is ", describe(t));
  Ref<Tensor> copy;
  uint64_t value = 0;
  std::memcpy(&value, data_of(on_host(t, copy)), bytes);
  return value != 0;
}

Value read_if_cond(Args args) {
  check_count(args, 1, 1, "(condition)");
  if (const DLTensor *tensor = try_dltensor(args[0])) return scalar_is_true(*tensor);
  return as_int(args[0], "the condition") != 0;
}

Value make_tuple(Args args) { return Array::make(args); }

Value &item_of(const View &tuple, const View &index) {
  auto &array = as<Array>(tuple, "tuple");
  const int64_t i = as_int(index, "index");
  if (i < 0 || static_cast<uint64_t>(i) >= array.size())
    fail(OPD_OUT_OF_RANGE, "item ", i, " of a tuple of ", array.size());
  return array.items()[i];
}

Value tuple_getitem(Args args) {
  check_count(args, 2, 2, "(tuple, index)");
  return item_of(args[0], args[1]);
}

Value tuple_reset_item(Args args) {  // resets in place, so that the item's memory is free before the tuple is
  check_count(args, 2, 2, "(tuple, index)");
  item_of(args[0], args[1]) = Value();
  return {};
}

Value make_closure(Args args) {
  check_count(args, 1, SIZE_MAX, "(function, captured …)");
  return make_object<ProgramClosure>(args);
}

Value invoke_closure(Args args) {
  check_count(args, 2, SIZE_MAX, "(vm, closure, arguments …)");
  run_of(args[0]);
  return call(as<Function>(args[1], "closure"), args.subspan(2));
}

Value call_tir_dyn(Args args) {  // spreads the sizes in the last argument into integer arguments
  check_count(args, 2, SIZE_MAX, "(function, arguments …, shape)");
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
  check_count(args, 3, SIZE_MAX, "(io, function name, line, arguments …)");
  const auto function = global_function(as_text(args[1], "function name"));
  std::vector<View> rest{args[2]};
  rest.insert(rest.end(), args.begin() + 3, args.end());
  call(*function, rest);
  return Value(args[0]);
}

constexpr Builtin kControlBuiltins[] = {
    builtin<"vm.builtin.read_if_cond", read_if_cond>(),   builtin<"vm.builtin.make_tuple", make_tuple>(),
    builtin<"vm.builtin.tuple_getitem", tuple_getitem>(), builtin<"vm.builtin.tuple_reset_item", tuple_reset_item>(),
    builtin<"vm.builtin.make_closure", make_closure>(),   builtin<"vm.builtin.invoke_closure", invoke_closure>(),
    builtin<"vm.builtin.call_tir_dyn", call_tir_dyn>(),   builtin<"vm.builtin.invoke_debug_func", invoke_debug_func>(),
};

}  // namespace

std::span<const Builtin> control_builtins() { return kControlBuiltins; }

}  // namespace opd
