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

TEST(Builtins, RefuseACountThatNoCallCanHave) {
  const Tensor heap({4}, "int64");
  for (const int64_t n : {INT64_MAX, INT64_MIN, int64_t{-1}}) {
    expect_throws([&] { Function::global("vm.builtin.make_shape")(heap, n); }, OPD_INVALID_ARGUMENT, "make_shape of ");
    expect_throws([&] { Function::global("vm.builtin.match_shape")(heap, heap, n, "x"); }, OPD_INVALID_ARGUMENT,
                  "match_shape of ");
  }
}
