// Printing, assertions, functions of the host by name, and what is not offered.
#include "support/log_messages.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

std::vector<std::string> lines_of(const LogMessages &log) {
  std::vector<std::string> lines;
  for (const LogMessages::Message &message : log.all()) {
    EXPECT_EQ(message.level, OPD_LOG_INFO) << message.text;
    lines.push_back(message.text);
  }
  return lines;
}

template <class... Args>
std::string printed(const Args &...args) {
  const LogMessages log;
  EXPECT_EQ(Function::global("relax.run.print")(args...).type(), OPD_NONE);
  const std::vector<std::string> lines = lines_of(log);
  return lines.size() == 1 ? lines[0] : "not one line";
}

}  // namespace

TEST(Print, WritesToTheLogAsPythonFormats) {
  EXPECT_EQ(printed("{} and {}", int64s({1, 2, 3, 4}, {2, 2}), 7), "[[1 2]\n [3 4]] and 7");
  EXPECT_EQ(printed("", floats({1.5f, 2}), "text", tuple_of(1, "t", true)), "[1.5 2] text (1, t, True)");
  EXPECT_EQ(printed("{1}{{}}{0}", 1, 2.5), "2.5{}1");
  EXPECT_EQ(printed(""), "");
  EXPECT_EQ(printed("", nullptr, shape_of({2, 3})), "None [2, 3]");
}

TEST(Print, ShowsEveryNumberType) {
  EXPECT_EQ(printed("", tensor_of<uint8_t>("bool", {1, 0})), "[True False]");
  EXPECT_EQ(printed("", tensor_of<int8_t>("int8", {-128, 65})), "[-128 65]");
  EXPECT_EQ(printed("", tensor_of<uint64_t>("uint64", {UINT64_MAX})), "[18446744073709551615]");
  // float16: 1.5, -2, 2^-24, inf, nan; bfloat16: 1, -0.5
  EXPECT_EQ(printed("", tensor_of<uint16_t>("float16", {0x3e00, 0xc000, 1, 0x7c00, 0xfe00})),
            "[1.5 -2 5.9604645e-08 inf nan]");
  EXPECT_EQ(printed("", tensor_of<uint16_t>("bfloat16", {0x3f80, 0xbf00})), "[1 -0.5]");
  EXPECT_EQ(printed("", tensor_of<double>("float64", {0.1, 1e300})), "[0.1 1e+300]");
  Tensor scalar({}, "int32");
  *scalar.data<int32_t>() = 5;
  EXPECT_EQ(printed("", scalar), "5");
  EXPECT_EQ(printed("", Tensor({0, 2}, "float32")), "Tensor(float32[0, 2], cpu:0)");
}

TEST(Print, CutsLongTensorsShort) {
  std::vector<int64_t> numbers(1001);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  EXPECT_EQ(printed("", int64s(numbers)), "[0 1 2 ... 998 999 1000]");
}

TEST(Print, RefusesFormatsThatDoNotFit) {
  const Function print = Function::global("relax.run.print");
  expect_throws([&] { print("{} {}", 1); }, OPD_OUT_OF_RANGE,
                "relax.run.print: the format \"{} {}\" names value 1, but there are 1");
  expect_throws([&] { print("{", 1); }, OPD_INVALID_ARGUMENT, "single '{' at byte 0");
  expect_throws([&] { print("a}", 1); }, OPD_INVALID_ARGUMENT, "single '}' at byte 1");
  expect_throws([&] { print("{:3}", 1); }, OPD_UNSUPPORTED, "field {:3}");
  expect_throws([&] { print("{99999999999999999999999}", 1); }, OPD_UNSUPPORTED);
  expect_throws([&] { print(1); }, OPD_INVALID_ARGUMENT, "format must be");
  expect_throws([&] { print(); }, OPD_INVALID_ARGUMENT, "(format, values …)");
}

TEST(DebugPrint, PrintsTheLineAndTheTensor) {
  const LogMessages log;
  Function::global("vm.builtin.debug_print")("a.py:3", floats({1.5f, 2}));
  vm_of(
      ".func main(x) {\n  %r = call vm.builtin.invoke_debug_func(%void, \"vm.builtin.debug_print\", \"b.py:4\", %x)\n  "
      "ret %r\n}")
      .call("main", floats({7}));
  EXPECT_EQ(lines_of(log), (std::vector<std::string>{"a.py:3: shape = [2], dtype = float32, data =\n[1.5 2]",
                                                     "b.py:4: shape = [1], dtype = float32, data =\n[7]"}));
}

TEST(TheDefaultTraceAction, PrintsAllArgumentsAndReturnsTheLast) {
  const LogMessages log;
  EXPECT_EQ(Function::global("tvm.default_trace_action")("x", 3, 2.5).to_string(), "2.5");
  EXPECT_EQ(lines_of(log), (std::vector<std::string>{"[x, 3, 2.5]"}));
}

TEST(Assert, PassesOrRaisesAnAssertionError) {
  const Function assert_op = Function::global("relax.run.assert_op");
  assert_op(true, "");
  assert_op(7, "never shown");
  Tensor yes({}, "bool"), no({}, "bool");
  *yes.data<uint8_t>() = 1;
  *no.data<uint8_t>() = 0;
  assert_op(yes, "");
  expect_throws([&] { assert_op(no, ""); }, OPD_CALL_FAILED, "relax.run.assert_op: Assertion Failed");
  expect_throws([&] { assert_op(false, "a {} b {}", int64s({1, 2}), 3); }, OPD_CALL_FAILED, "a [1 2] b 3");
  expect_throws([&] { assert_op(false, "", floats({1.5f}), tuple_of(1, "t")); }, OPD_CALL_FAILED, "[1.5], (1, t)");
  expect_throws([&] { assert_op(int64s({1}), ""); }, OPD_INVALID_ARGUMENT,
                "condition must be a bool, an int or a bool tensor of rank 0, but is int64[1]");
  expect_throws([&] { assert_op("yes", ""); }, OPD_INVALID_ARGUMENT, "condition must be");
  try {
    vm_of(".func main(c) {\n  call relax.run.assert_op(%c, \"no\")\n  ret %c\n}").call("main", false);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error &e) {
    EXPECT_EQ(e.kind(), "AssertionError");
    EXPECT_EQ(e.message(), "relax.run.assert_op: no (called by main, instruction 0)");
  }
}

TEST(HostFunctions, AreCalledByNameWithATuple) {
  const auto add = Function::global("vm.builtin.register_py_func"), find = Function::global("vm.builtin.get_py_func");
  const auto call = Function::global("vm.builtin.call_py_func"),
             clear = Function::global("vm.builtin.clear_py_func_registry");
  add("plus", make_function([](const opd_value *args, int32_t num_args, opd_value *out) {
        if (num_args != 2) throw std::runtime_error("plus takes 2 arguments");
        *out = opd_int(args[0].u.int64 + args[1].u.int64);
      }));
  EXPECT_EQ(call(tuple_of("plus", tuple_of(2, 3))).view().u.int64, 5);
  EXPECT_EQ(find("plus").type(), OPD_FUNCTION);
  const Vm vm = vm_of(R"(
.func main(x) {
  %a = call vm.builtin.make_tuple(%x, 40)
  %p = call vm.builtin.make_tuple("plus", %a)
  %r = call vm.builtin.call_py_func(%p)
  ret %r
})");
  EXPECT_EQ(vm.call("main", 2).view().u.int64, 42);
  expect_throws([&] { call(tuple_of("plus", tuple_of(1))); }, OPD_CALL_FAILED, "plus takes 2 arguments");
  expect_throws(
      [&] { call(tuple_of("plos", tuple_of())); }, OPD_NOT_FOUND,
      "there is no function \"plos\" among the 1 registered by vm.builtin.register_py_func. Did you mean plus?");
  expect_throws([&] { call(tuple_of("plus")); }, OPD_INVALID_ARGUMENT,
                "a tuple of a name and a tuple, but has 1 items");
  expect_throws([&] { call("plus"); }, OPD_INVALID_ARGUMENT, "the argument must be");
  expect_throws([&] { call(tuple_of("plus", 1)); }, OPD_INVALID_ARGUMENT, "the function's arguments must be");
  expect_throws([&] { add("plus", 3); }, OPD_INVALID_ARGUMENT, "function must be");
  clear();
  expect_throws([&] { find("plus"); }, OPD_NOT_FOUND, "\"plus\"");
}

TEST(HostFunctions, AFunctionOfAProgramKeepsItsVm) {
  const auto call = Function::global("vm.builtin.call_py_func");
  Value closure, bare;
  {
    const Vm vm = vm_of(R"(
.func pair(a, b) {
  %r = call vm.builtin.make_tuple(%a, %b)
  ret %r
}
.func main() {
  call vm.builtin.register_py_func("pair", @pair)
  %f = call vm.builtin.make_closure(@pair, 2)
  ret %f
}
.func give() {
  %f = call vm.builtin.copy(@pair)
  ret %f
})");
    closure = vm.call("main");
    bare = vm.call("give");
  }
  EXPECT_EQ(call(tuple_of("pair", tuple_of(1, 2))).to_string(), "[1, 2]");
  for (const Value &value : {closure, bare}) {
    const Function function(static_cast<opd_function *>(opd_object_retain(value.view().u.object)));
    if (value.view().u.object == closure.view().u.object) EXPECT_EQ(function(1).to_string(), "[1, 2]");
    else EXPECT_EQ(function(1, 3).to_string(), "[1, 3]");
  }
  Function::global("vm.builtin.clear_py_func_registry")();
}

TEST(HostFunctions, GetFunctionsThatFailIfTheirVmWasReleased) {
  static Value kept;
  define("test.keep", [](const opd_value *args, int32_t, opd_value *) { kept = Value::retain(args[0]); });
  vm_of(".func one() {\n  ret %void\n}\n.func main() {\n  call test.keep(@one)\n  ret %void\n}").call("main");
  const Function function(static_cast<opd_function *>(opd_object_retain(kept.view().u.object)));
  kept = Value();
  expect_throws([&] { function(); }, OPD_FAILED_PRECONDITION, "was released");
}

TEST(NotOffered, ProgramsAreRefusedByNameWhenTheyAreLoaded) {
  // Nothing stands behind the reason: what has a name like it is of another class.
  const auto refused = [](const std::string &name, const std::string &why) {
    try {
      vm_of(".func main(x) {\n  %r = call " + name + "(%x)\n  ret %r\n}");
      ADD_FAILURE() << name;
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), OPD_NOT_FOUND);
      EXPECT_EQ(
          e.message(),
          "the program needs functions that neither its imported modules nor the global registry offer: " + name + why);
    }
  };
  refused("vm.builtin.paged_attention_kv_cache_created", "");
  refused("vm.builtin.kv_cache_disagg_mark_send", "; the transfer of KV caches between machines is not offered");
  refused("runtime.disco.allreduce", "; programs that run in several processes (disco) are not offered");
  expect_throws(
      [&] {
        vm_of(
            ".func main(x) {\n  call test.unknown(%x)\n  call vm.builtin.kv_cache_disagg_prepare_recv(%x)\n  ret "
            "%x\n}");
      },
      OPD_NOT_FOUND,
      "test.unknown, vm.builtin.kv_cache_disagg_prepare_recv; the transfer of KV caches between machines is not "
      "offered");
}

TEST(Print, ShowsTheNumberTypesOfEveryWidth) {
  EXPECT_EQ(printed("", tensor_of<int16_t>("int16", {-32768, 258})), "[-32768 258]");
  EXPECT_EQ(printed("", tensor_of<int32_t>("int32", {INT32_MIN, 65537})), "[-2147483648 65537]");
  EXPECT_EQ(printed("", tensor_of<uint8_t>("uint8", {255, 65})), "[255 65]");
  EXPECT_EQ(printed("", tensor_of<uint16_t>("uint16", {65535, 258})), "[65535 258]");
  EXPECT_EQ(printed("", tensor_of<uint32_t>("uint32", {UINT32_MAX, 65537})), "[4294967295 65537]");
  EXPECT_EQ(printed("", tensor_of<float>("float32", {-INFINITY, NAN, -0.F})), "[-inf nan -0]");
  EXPECT_EQ(printed("", Tensor({2}, "int4")), "Tensor(int4[2], cpu:0)");
  EXPECT_EQ(printed("", Tensor({2}, "float32x2")), "Tensor(float32x2[2], cpu:0)");
  EXPECT_EQ(printed("", Tensor({2}, "complex64")), "[? ?]");
}

// As numpy, but without its blank lines and columns.
TEST(Print, ShowsEachAxisWithinItsBrackets) {
  EXPECT_EQ(printed("", int32s({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2})), "[[[1 2]\n  [3 4]]\n [[5 6]\n  [7 8]]]");
  EXPECT_EQ(printed("", int32s({1, 2, 3}, {3, 1})), "[[1]\n [2]\n [3]]");
}

TEST(Print, CutsOnlyLongAxesOfLongTensors) {
  const auto numbers = [](int64_t rows, int64_t columns) {
    std::vector<int32_t> all(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
    return int32s(all, {rows, columns});
  };
  EXPECT_EQ(printed("", numbers(6, 200)),
            "[[0 1 2 ... 197 198 199]\n [200 201 202 ... 397 398 399]\n [400 401 402 ... 597 598 599]\n"
            " [600 601 602 ... 797 798 799]\n [800 801 802 ... 997 998 999]\n [1000 1001 1002 ... 1197 1198 1199]]");
  EXPECT_EQ(printed("", numbers(200, 7)),
            "[[0 1 2 ... 4 5 6]\n [7 8 9 ... 11 12 13]\n [14 15 16 ... 18 19 20]\n ...\n"
            " [1379 1380 1381 ... 1383 1384 1385]\n [1386 1387 1388 ... 1390 1391 1392]\n"
            " [1393 1394 1395 ... 1397 1398 1399]]");
  const std::string whole = printed("", numbers(1, 1000));
  EXPECT_EQ(whole.find("..."), std::string::npos) << "1000 elements are not cut";
  EXPECT_EQ(std::count(whole.begin(), whole.end(), ' '), 999);
}

TEST(Print, EndsTuplesThatAreTooDeepOrTooLong) {
  const auto nested = [](int depth) {
    Value value = tuple_of(7);
    for (int i = 1; i < depth; ++i) value = tuple_of(value);
    return printed("", value);
  };
  EXPECT_EQ(nested(32), std::string(32, '(') + "7" + std::string(32, ')'));
  EXPECT_EQ(nested(33), std::string(32, '(') + "(...)" + std::string(32, ')'));
  Value wide = tuple_of("0123456789");
  for (int i = 0; i < 20; ++i) wide = tuple_of(wide, wide);  // ten million letters
  const std::string text = printed("", wide);
  EXPECT_GT(text.size(), size_t{1} << 20);
  EXPECT_LT(text.size(), (size_t{1} << 20) + 1000);
}

TEST(Print, TakesNumberedAndOtherFieldsTogether) {
  EXPECT_EQ(printed("{1} {} {}", 5, 6), "6 5 6") << "a number does not count for the others";
  EXPECT_EQ(printed("{{{0}}} }}", 5), "{5} }");
  const Function print = Function::global("relax.run.print");
  expect_throws([&] { print("{0x}", 1); }, OPD_UNSUPPORTED,
                "the format \"{0x}\" has the field {0x}; {} and {number} are offered");
  expect_throws([&] { print("a {", 1); }, OPD_INVALID_ARGUMENT, "the format \"a {\" has a single '{' at byte 2");
  expect_throws([&] { print("{1}", 1); }, OPD_OUT_OF_RANGE, "names value 1, but there are 1");
}

TEST(Print, ShowsAViewThatItCannotRead) {
  float numbers[] = {1, 2, 3, 4};
  int64_t dims[] = {2}, strides[] = {2};
  DLTensor view{numbers, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, dims, nullptr, 4};
  EXPECT_EQ(printed("", opd_dltensor(&view)), "[2 3]");
  view.strides = strides;
  const std::string with_gaps = printed("", opd_dltensor(&view));
  EXPECT_NE(with_gaps.find("float32[2]"), std::string::npos) << with_gaps;
}
