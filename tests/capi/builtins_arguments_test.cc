// What holds for all builtins.
#include <set>

#include "support/failure.h"
#include "support/tensors.h"

using namespace opdyno_test;

// Builtins read their arguments by position, so a call with too few of them would read beyond the caller's.
TEST(Builtins, RefuseTooFewAndTooManyArguments) {
  // The first set's builtins check the type of each argument.
  const std::set<std::string> any_number{"call_tir_dyn",
                                         "invoke_debug_func",
                                         "make_closure",
                                         "make_shape",
                                         "make_tuple",
                                         "match_shape",
                                         "param_array_from_cache_by_name_unpacked"};
  const std::set<std::string> none{"clear_py_func_registry", "make_tuple", "memory_manager.clear",
                                   "ndarray_cache.clear",    "null_value", "param_array_from_cache_by_name_unpacked",
                                   "tensor_cache.clear"};
  const std::vector<opd_value> many(40, opd_none());
  size_t count = 0;
  for (const std::string &name : Function::list_global()) {
    if (name.rfind("vm.builtin.", 0) != 0) continue;
    const std::string shorter = name.substr(11);
    ++count;
    const Function builtin = Function::global(name.c_str());
    for (const size_t given : {size_t{0}, many.size()}) {
      if (given ? any_number.count(shorter) : none.count(shorter)) continue;
      Value result;
      const auto refused = opdyno_test::failure(
          opd_function_call(builtin.get(), many.data(), static_cast<int32_t>(given), result.out()));
      EXPECT_NE(refused.message.find("argument"), std::string::npos)
          << name << " with " << given << ": " << refused.message;
    }
  }
  EXPECT_GT(count, 50u);
}

// As TVM's compiler calls them. `most` is 0 if there may be any number.
TEST(Builtins, SayWhichArgumentsTheyTake) {
  const struct {
    const char *name;
    int32_t least, most;
    const char *usage;
  } builtins[] = {
      {"vm.builtin.check_tensor_info", 3, 4, "(x, ndim, [dtype,] error)"},
      {"vm.builtin.check_shape_info", 3, 3, "(x, ndim, error)"},
      {"vm.builtin.check_tuple_info", 3, 3, "(x, size, error)"},
      {"vm.builtin.check_prim_value_info", 3, 3, "(x, dtype, error)"},
      {"vm.builtin.check_func_info", 2, 2, "(x, error)"},
      {"vm.builtin.check_string_info", 2, 2, "(x, error)"},
      {"vm.builtin.read_if_cond", 1, 1, "(condition)"},
      {"vm.builtin.tuple_getitem", 2, 2, "(tuple, index)"},
      {"vm.builtin.tuple_reset_item", 2, 2, "(tuple, index)"},
      {"vm.builtin.make_closure", 1, 0, "(function, captured …)"},
      {"vm.builtin.invoke_closure", 2, 0, "(vm, closure, arguments …)"},
      {"vm.builtin.call_tir_dyn", 2, 0, "(function, arguments …, shape)"},
      {"vm.builtin.invoke_debug_func", 3, 0, "(io, function name, line, arguments …)"},
      {"relax.run.print", 1, 0, "(format, values …)"},
      {"relax.run.assert_op", 2, 0, "(condition, format, values …)"},
      {"tvm.default_trace_action", 1, 0, "(names …, value)"},
      {"vm.builtin.debug_print", 2, 2, "(line, tensor)"},
      {"vm.builtin.register_py_func", 2, 2, "(name, function)"},
      {"vm.builtin.get_py_func", 1, 1, "(name)"},
      {"vm.builtin.call_py_func", 1, 1, "((name, (arguments …)))"},
      {"vm.builtin.clear_py_func_registry", 0, 0, "()"},
      {"vm.builtin.attention_kv_cache_create", 3, 3, "(initial value, reserved shape, fill count)"},
      {"vm.builtin.attention_kv_cache_append", 2, 2, "(cache, value)"},
      {"vm.builtin.attention_kv_cache_update", 2, 2, "(cache, value)"},
      {"vm.builtin.attention_kv_cache_window_override", 3, 3, "(cache, value, max_cache_size)"},
      {"vm.builtin.attention_kv_cache_window_override_with_sinks", 4, 4, "(cache, value, max_cache_size, sinks)"},
      {"vm.builtin.attention_kv_cache_view", 1, 2, "(cache [, shape])"},
      {"vm.builtin.attention_kv_cache_array_popn", 2, 2, "(caches, n)"},
      {"vm.builtin.attention_kv_cache_array_clear", 1, 1, "(caches)"},
      {"runtime.TVMTensorCreateView", 4, 4, "(tensor, shape, dtype, offset in bytes)"},
      {"vm.builtin.alloc_storage", 4, 5, "(vm, size, device index, dtype [, scope])"},
      {"vm.builtin.alloc_tensor", 4, 5, "(storage, offset, shape, dtype [, scope])"},
      {"vm.builtin.null_value", 0, 0, "()"},
      {"vm.builtin.copy", 1, 1, "(x)"},
      {"vm.builtin.reshape", 2, 2, "(tensor, shape)"},
      {"vm.builtin.to_device", 3, 4, "(tensor, device type, device id [, scope])"},
      {"vm.builtin.ensure_zero_offset", 1, 1, "(tensor)"},
      {"vm.builtin.memory_manager.clear", 0, 0, "()"},
      {"vm.builtin.sample_top_p_from_logits", 4, 4, "(logits, temperature, top_p, uniform_sample)"},
      {"vm.builtin.sample_top_p_from_prob", 3, 3, "(prob, top_p, uniform_sample)"},
      {"vm.builtin.multinomial_from_uniform", 2, 2, "(prob, uniform_sample)"},
      {"vm.builtin.apply_repetition_penalty", 3, 3, "(logits, token_ids, penalty)"},
      {"vm.builtin.apply_presence_and_frequency_penalty", 5, 5,
       "(logits, token_ids, token_freqs, presence_penalty, frequency_penalty)"},
      {"vm.builtin.apply_softmax_with_temperature", 2, 2, "(logits, temperature)"},
      {"vm.builtin.alloc_shape_heap", 2, 2, "(vm, size)"},
      {"vm.builtin.match_shape", 4, 0, "(x, heap, n, (code, operand) × n, error)"},
      {"vm.builtin.match_prim_value", 5, 5, "(x, heap, code, operand, error)"},
      {"vm.builtin.make_shape", 2, 0, "(heap, n, (code, operand) × n)"},
      {"vm.builtin.make_prim_value", 3, 3, "(heap, code, operand)"},
      {"vm.builtin.shape_of", 1, 1, "(tensor)"},
      {"vm.builtin.tensor_to_shape", 1, 1, "(tensor)"},
      {"tvm.contrib.sort.argsort", 4, 4, "(input, output, axis, is_ascend)"},
      {"tvm.contrib.sort.sort", 4, 4, "(input, output, axis, is_ascend)"},
      {"tvm.contrib.sort.topk", 6, 7, "(input, [values,] [indices,] k, axis, ret_type, is_ascend)"},
      {"tvm.contrib.sort.argsort_nms", 5, 5, "(input, sort_num, output, axis, is_ascend)"},
      {"vm.builtin.tensor_cache.get", 1, 1, "(name)"},
      {"vm.builtin.tensor_cache.update", 2, 3, "(name, tensor [, override])"},
      {"vm.builtin.tensor_cache.remove", 1, 1, "(name)"},
      {"vm.builtin.tensor_cache.clear", 0, 0, "()"},
      {"vm.builtin.tensor_cache.load", 3, 3, "(path, device type, device id)"},
      {"vm.builtin.ndarray_cache.get", 1, 1, "(name)"},
      {"vm.builtin.ndarray_cache.update", 2, 3, "(name, tensor [, override])"},
      {"vm.builtin.ndarray_cache.remove", 1, 1, "(name)"},
      {"vm.builtin.ndarray_cache.clear", 0, 0, "()"},
      {"vm.builtin.ndarray_cache.load", 3, 3, "(path, device type, device id)"},
      {"relax.run.unique", 5, 6, "(x, sorted, return_index, return_inverse, return_counts [, axis])"},
      {"relax.run.nonzero", 1, 1, "(x)"},
      {"relax.run.shape_to_tensor", 1, 1, "(shape)"},
  };
  const std::vector<opd_value> many(8, opd_none());
  for (const auto &[name, least, most, usage] : builtins) {
    const Function builtin = Function::global(name);
    const bool any = most == 0 && least > 0;
    for (const int32_t given : {least - 1, any ? -1 : most + 1}) {
      if (given < 0) continue;
      Value result;
      const auto refused = opdyno_test::failure(opd_function_call(builtin.get(), many.data(), given, result.out()));
      EXPECT_EQ(refused.message,
                std::string(name) + ": the arguments are " + usage + ", but " + std::to_string(given) + " were given");
    }
  }
}

// TVM before 0.23 spelled bool as an unsigned bit.
TEST(CheckTensorInfo, TakesBothSpellingsOfBool) {
  const Function check = Function::global("vm.builtin.check_tensor_info");
  const DLDataType old_bool{kDLUInt, 1, 1}, new_bool{kDLBool, 8, 1}, bytes{kDLUInt, 8, 1}, any{};
  const Tensor truth({1}, "bool"), numbers({1}, "uint8");
  for (const DLDataType dtype : {old_bool, new_bool, any}) EXPECT_EQ(check(truth, 1, dtype, "x").type(), int{OPD_NONE});
  for (const DLDataType dtype : {bytes, any}) EXPECT_EQ(check(numbers, 1, dtype, "x").type(), int{OPD_NONE});
  expect_throws([&] { check(numbers, 1, new_bool, "x"); }, OPD_INVALID_ARGUMENT,
                "x: expected a tensor of dtype bool, but got uint8[1] on cpu:0");
  expect_throws([&] { check(numbers, 1, old_bool, "x"); }, OPD_INVALID_ARGUMENT,
                "x: expected a tensor of dtype uint1, but got uint8[1] on cpu:0");
  expect_throws([&] { check(truth, 1, bytes, "x"); }, OPD_INVALID_ARGUMENT,
                "x: expected a tensor of dtype uint8, but got bool[1] on cpu:0");
}

TEST(Builtins, RefuseACountThatNoCallCanHave) {
  const Tensor heap({4}, "int64");
  for (const int64_t n : {INT64_MAX, INT64_MIN, int64_t{-1}}) {
    expect_throws([&] { Function::global("vm.builtin.make_shape")(heap, n); }, OPD_INVALID_ARGUMENT, "make_shape of ");
    expect_throws([&] { Function::global("vm.builtin.match_shape")(heap, heap, n, "x"); }, OPD_INVALID_ARGUMENT,
                  "match_shape of ");
  }
}

// Each check lets pass what it asks for, and tells what it got otherwise. A rank or size below 0 stands for any.
TEST(Checks, StateTheExpectedAndTheGivenValue) {
  const auto passes = [](const char *name, auto... args) {
    EXPECT_EQ(Function::global(("vm.builtin.check_" + std::string(name)).c_str())(args...).type(), int{OPD_NONE});
  };
  const auto refuses = [](const char *kind, const char *message, const char *name, auto... args) {
    Value result;
    const opd_value views[] = {arg(args)...};
    const auto refused = opdyno_test::failure(
        opd_function_call(Function::global(("vm.builtin.check_" + std::string(name)).c_str()).get(), views,
                          sizeof...(args), result.out()));
    EXPECT_EQ(refused.kind, kind) << name;
    EXPECT_EQ(refused.message, "vm.builtin.check_" + std::string(name) + ": " + message);
  };
  const Tensor matrix({2, 3}, "float32"), scalar(std::vector<int64_t>{}, "float32");
  const DLDataType f32{kDLFloat, 32, 1}, f64{kDLFloat, 64, 1}, bf16{kDLBfloat, 16, 1}, i32{kDLInt, 32, 1},
      handle{kDLOpaqueHandle, 64, 1};
  for (const int64_t rank : {2, -1})
    passes("tensor_info", matrix, rank, f32, "x"), passes("tensor_info", matrix, rank, "x");
  passes("tensor_info", matrix, 2, nullptr, "x");
  passes("tensor_info", scalar, 0, "x");
  refuses("TypeError", "x: expected a tensor, but got int", "tensor_info", 3, 2, "x  ");
  refuses("ValueError", "expected a tensor of rank 0, but got float32[2, 3] on cpu:0", "tensor_info", matrix, 0, "  ");
  refuses("ValueError", "expected a tensor of rank 3, but got float32[2, 3] on cpu:0", "tensor_info", matrix, 3, f32,
          "");
  refuses("ValueError", "x: expected a tensor of dtype float64, but got float32[2, 3] on cpu:0", "tensor_info", matrix,
          -1, f64, "x");

  const Value shape = shape_of({4, 5}), empty = shape_of({});
  for (const int64_t rank : {2, -1}) passes("shape_info", shape, rank, "s");
  passes("shape_info", empty, 0, "s");
  refuses("TypeError", "s: expected a shape, but got int", "shape_info", 3, 2, "s");
  refuses("ValueError", "s: expected a shape of rank 0, but got [4, 5]", "shape_info", shape, 0, "s");
  refuses("ValueError", "s: expected a shape of rank 1, but got [4, 5]", "shape_info", shape, 1, "s");

  const Value pair = tuple_of(1, 2), none = tuple_of();
  for (const int64_t size : {2, -1}) passes("tuple_info", pair, size, "t");
  passes("tuple_info", none, 0, "t");
  refuses("TypeError", "t: expected a tuple, but got int", "tuple_info", 3, 2, "t");
  refuses("ValueError", "t: expected a tuple of 0, but got one of 2", "tuple_info", pair, 0, "t");
  refuses("ValueError", "t: expected a tuple of 3, but got one of 2", "tuple_info", pair, 3, "t");

  int place = 0;
  const opd_value pointer = opd_pointer(&place);
  passes("prim_value_info", 3, i32, "n"), passes("prim_value_info", true, i32, "n");
  for (const DLDataType dtype : {f32, bf16}) {
    passes("prim_value_info", 2.5, dtype, "n"), passes("prim_value_info", 3, dtype, "n");
    passes("prim_value_info", true, dtype, "n");
  }
  passes("prim_value_info", pointer, handle, "n"), passes("prim_value_info", nullptr, handle, "n");
  refuses("TypeError", "n: expected int32, but got float", "prim_value_info", 2.5, i32, "n");
  refuses("TypeError", "n: expected int32, but got None", "prim_value_info", nullptr, i32, "n");
  refuses("TypeError", "n: expected float32, but got None", "prim_value_info", nullptr, f32, "n");
  refuses("TypeError", "n: expected handle, but got int", "prim_value_info", 3, handle, "n");

  passes("func_info", Function::global("vm.builtin.copy"), "f");
  refuses("TypeError", "f: expected a function, but got int", "func_info", 3, "f");
  passes("string_info", "text", "s"), passes("string_info", "", "s");
  refuses("TypeError", "s: expected a string, but got int", "string_info", 3, "s");
}
