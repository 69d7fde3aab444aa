// What each type of C++ becomes as an argument of a call: opdyno.hpp's closed set.
#include <cstring>

#include "support/opdyno_test.h"

namespace opdyno_test {
namespace {

// Gives its only argument back.
Value echo(const Function &function, const auto &argument) { return function(argument); }
Function identity() {
  return Function::of([](const opd_value *args, int32_t) { return Value::retain(args[0]); });
}

template <class T>
concept IsArgument = requires(const T &x) {
  arg(x);
};

struct Unknown {};
enum class Choice { one };

// Pointers without a meaning do not become true, or anything else.
static_assert(!IsArgument<void *> && !IsArgument<const void *> && !IsArgument<int *> && !IsArgument<Unknown *>);
static_assert(!IsArgument<opd_object *> && !IsArgument<opd_value *> && !IsArgument<DLManagedTensor *>);
static_assert(!IsArgument<Unknown> && !IsArgument<Choice> && !IsArgument<std::vector<int>>);
static_assert(IsArgument<DLTensor *> && IsArgument<opd_tensor *> && IsArgument<const opd_function *>);

template <class T>
class Integers : public testing::Test {};
using IntegerTypes = testing::Types<signed char, unsigned char, short, unsigned short, int, unsigned, long,
                                    unsigned long, long long, unsigned long long, size_t, int64_t, uint32_t>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

TYPED_TEST(Integers, BecomeInts) {
  const Value back = echo(identity(), TypeParam{100});
  EXPECT_EQ(back.type(), OPD_INT);
  EXPECT_EQ(back.view().u.int64, 100);
}

TEST(CppArguments, IntegersKeepTheirSignAndTheirRange) {
  EXPECT_EQ(arg(-1).u.int64, -1);
  EXPECT_EQ(arg(INT64_MIN).u.int64, INT64_MIN);
  EXPECT_EQ(arg(uint64_t{INT64_MAX}).u.int64, INT64_MAX);
  EXPECT_THROW(arg(uint64_t{INT64_MAX} + 1), std::out_of_range);
}

TEST(CppArguments, FloatsOfEachWidthBecomeFloats) {
  for (const opd_value &value : {arg(0.5f), arg(0.5), arg(0.5L)}) {
    EXPECT_EQ(value.type, OPD_FLOAT);
    EXPECT_EQ(value.u.float64, 0.5);
  }
}

TEST(CppArguments, BoolsStayBools) {
  EXPECT_EQ(echo(identity(), true).type(), OPD_BOOL);
  EXPECT_EQ(echo(identity(), false).view().u.int64, 0);
}

TEST(CppArguments, TextIsPassedWhole) {
  const Function back = identity();
  const auto text = [](const Value &value) {
    const opd_value view = value.view();
    const char *data = nullptr;
    size_t size = 0;
    check(opd_string_get(&view, &data, &size));
    return std::string(data, size);
  };
  char writable[] = "abc";
  EXPECT_EQ(text(back("abc")), "abc");
  EXPECT_EQ(text(back(static_cast<const char *>("abc"))), "abc");
  EXPECT_EQ(text(back(static_cast<char *>(writable))), "abc");
  EXPECT_EQ(text(back(std::string("a\0b", 3))), std::string("a\0b", 3));
  EXPECT_EQ(text(back(std::string("a long string with a \0 in it", 28))),
            std::string("a long string with a \0 in it", 28));
  EXPECT_EQ(text(back(std::string_view("abcdef").substr(1, 3))), "bcd") << "not terminated where it ends";
  EXPECT_EQ(text(back(std::string_view())), "");
  EXPECT_EQ(back(static_cast<const char *>(nullptr)).type(), OPD_NONE);
  EXPECT_THROW(arg(std::string("a\0b", 3)), std::invalid_argument) << "a borrowed view cannot hold it";
}

TEST(CppArguments, HandlesAndTensorsKeepTheirIdentity) {
  const Function back = identity();
  const Tensor tensor = floats({1, 2});
  EXPECT_EQ(Tensor::of(back(tensor)).get(), tensor.get());
  EXPECT_EQ(Tensor::of(back(tensor.get())).get(), tensor.get());
  EXPECT_EQ(Function(static_cast<opd_function *>(opd_object_retain(back(back.get()).view().u.object))).get(),
            back.get());
  EXPECT_EQ(back(nullptr).type(), OPD_NONE);
  EXPECT_EQ(back(static_cast<opd_tensor *>(nullptr)).type(), OPD_NONE);
  const Function shape = Function::of(
      [](const opd_value *args, int32_t) { return args[0].type == OPD_DLTENSOR ? args[0].u.dltensor->shape[0] : -1; });
  EXPECT_EQ(shape(&tensor.view()).view().u.int64, 2);
  EXPECT_EQ(shape(const_cast<DLTensor *>(&tensor.view())).view().u.int64, 2);
}

TEST(CppArguments, DevicesAndDtypesArePassed) {
  const Value device = echo(identity(), DLDevice{kDLCUDA, 1}), dtype = echo(identity(), DLDataType{kDLInt, 8, 1});
  EXPECT_EQ(device.to_string(), "cuda:1");
  EXPECT_EQ(dtype.to_string(), "int8");
}

TEST(CppArguments, CallablesBecomeFunctions) {
  const Function twice = Function::of([](const opd_value *args, int32_t) {
    const auto *function = reinterpret_cast<const opd_function *>(args[0].u.object);
    Value once, again;
    check(opd_function_call(const_cast<opd_function *>(function), args + 1, 1, once.out()));
    check(opd_function_call(const_cast<opd_function *>(function), &once.view(), 1, again.out()));
    return again;
  });
  int calls = 0;
  const auto triple = [&calls](const opd_value *args, int32_t) { return ++calls, 3 * args[0].u.int64; };
  EXPECT_EQ(twice(triple, 5).view().u.int64, 45);
  EXPECT_EQ(calls, 2);
}

TEST(FunctionsOfLambdas, ReturnTheResultOfTheLambda) {
  EXPECT_EQ(Function::of([](const opd_value *, int32_t) {})().type(), OPD_NONE);
  EXPECT_EQ(Function::of([](const opd_value *, int32_t) { return std::string("a\0b", 3); })().to_string(),
            Value::retain(Function::of([](const opd_value *, int32_t) { return std::string_view("a\0b", 3); })().view())
                .to_string());
  EXPECT_EQ(Function::of([](const opd_value *, int32_t count) { return count; })(1, 2, 3).view().u.int64, 3);
}

TEST(FunctionsOfLambdas, ReturnTheExceptionOfTheLambdaAsAnError) {
  const auto throws = [](auto what) { return Function::of([what](const opd_value *, int32_t) -> int { throw what; }); };
  expect_throws([&] { throws(std::runtime_error("no"))(); }, OPD_CALL_FAILED, "no");
  expect_throws([&] { throws(7)(); }, OPD_CALL_FAILED, "no std::exception");
  expect_throws([&] { throws(Error(opd_error_create(OPD_IO, nullptr, "disk")))(); }, OPD_IO, "disk");
}

}  // namespace
}  // namespace opdyno_test
