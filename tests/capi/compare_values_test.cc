// How opd_compare() compares values: dtypes and their tolerances, borders, places and conversions. The programs return
// their argument, and B gets one of its own.
#include <opdyno/compare.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/add_one.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

template <class T>
Tensor of_dtype(const char *dtype, const std::vector<T> &storage, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(storage.size())};
  Tensor tensor(dims, dtype);
  std::memcpy(tensor.data<char>(), storage.data(), storage.size() * sizeof(T));
  return tensor;
}

struct Tolerances {
  const char *rtol = nullptr, *atol = nullptr;
  bool equal_nan = true;
};
opdyno::Report compared_values(const opd_value &a, const opd_value &b, const Tolerances &tolerances = {},
                               const std::string &a_checks = "", const std::string &b_checks = "") {
  const auto vm = [](const std::string &checks) { return make_vm(".func main(x) {\n" + checks + "  ret %x\n}"); };
  Handle<opd_array> of_b;
  check(opd_array_create(&b, 1, of_b.out()));
  auto options = opdyno::defaults(opd_compare_options_init);
  options.rtol = tolerances.rtol, options.atol = tolerances.atol, options.equal_nan = tolerances.equal_nan;
  options.b_args = of_b.get();
  return opdyno::compare(vm(a_checks), vm(b_checks), "main", {a}, &options, false).report;
}

// "state: max abs, max rel, tolerance; mismatches of elements": of the result.
std::string row(const opdyno::Report &report) {
  std::string out;
  for (const char *column : {"State", "Max Abs", "Max Rel", "Tolerance", "Mismatches", "Elements"}) {
    Value value;
    if (opd_error *error = opd_report_get(report.get(), OPD_REPORT_CALLS, 0, column, value.out(), nullptr))
      opd_error_release(error);
    out += out.empty() ? "" : " ";
    if (value.type() == OPD_NONE) out += "-";
    else out += value.type() == OPD_INT || value.type() == OPD_FLOAT ? value.to_string() : value.string();
  }
  return out;
}
std::string row(const Tensor &a, const Tensor &b, const Tolerances &tolerances = {}) {
  return row(compared_values(arg(a), arg(b), tolerances));
}
std::string verdict(const opdyno::Report &report) {
  return report.value(OPD_REPORT_CONFIGURATION, 0, "Verdict").string();
}
std::string verdict(const Tensor &a, const Tensor &b, const Tolerances &tolerances = {}) {
  return verdict(compared_values(arg(a), arg(b), tolerances));
}

template <class T>
std::string row_of(const char *dtype, const std::vector<T> &a, const std::vector<T> &b) {
  return row(of_dtype<T>(dtype, a), of_dtype<T>(dtype, b));
}

}  // namespace

// "state: max abs, max rel, tolerance, mismatches, elements"; the tolerance is that of PyTorch for the dtype and A's
// number.
TEST(ComparedValues, AreNumbersOfTheirDtype) {
  EXPECT_EQ(row_of<int8_t>("int8", {1, 2, 3}, {1, -2, 3}), "differs 4 2 0 1 3");
  EXPECT_EQ(row_of<uint8_t>("uint8", {200}, {100}), "differs 100 0.5 0 1 1");
  EXPECT_EQ(row_of<int16_t>("int16", {-300}, {300}), "differs 600 2 0 1 1");
  EXPECT_EQ(row_of<uint16_t>("uint16", {60'000}, {30'000}), "differs 30000 0.5 0 1 1");
  EXPECT_EQ(row_of<int32_t>("int32", {-70'000}, {70'000}), "differs 140000 2 0 1 1");
  EXPECT_EQ(row_of<uint32_t>("uint32", {4'000'000'000}, {1'000'000'000}), "differs 3e+09 0.75 0 1 1");
  EXPECT_EQ(row_of<int64_t>("int64", {(int64_t{1} << 62) + 1}, {int64_t{1} << 62}).substr(0, 10), "differs 1 ")
      << "no double has both";
  EXPECT_EQ(row_of<uint64_t>("uint64", {UINT64_MAX}, {UINT64_MAX - 1}).substr(0, 10), "differs 1 ");
  EXPECT_EQ(row_of<uint8_t>("bool", {2, 0}, {1, 0}), "agrees 0 0 - 0 2") << "any byte but 0 is true";
  EXPECT_EQ(row_of<uint8_t>("bool", {1, 0}, {1, 1}), "differs 1 - 0 1 2");
  EXPECT_EQ(row_of<float>("float32", {1}, {1.5}), "differs 0.5 0.5 1.13e-05 1 1");
  EXPECT_EQ(row_of<double>("float64", {1}, {1.5}), "differs 0.5 0.5 2e-07 1 1");
  EXPECT_EQ(row_of<uint16_t>("float16", {0x3C00, 0xC000, 0x0001}, {0x3E00, 0x4000, 0x0003}), "differs 4 2 0.00201 2 3")
      << "1 and 1.5; -2 and 2; subnormal numbers, which are too small to differ";
  EXPECT_EQ(row_of<uint16_t>("float16", {0x7C00}, {0xFC00}), "differs - - - 1 1") << "inf and -inf have no distance";
  EXPECT_EQ(row_of<uint16_t>("bfloat16", {0x3F80, 0xC000}, {0x3FC0, 0xC080}), "differs 2 1 0.032010000000000004 2 2");
}

TEST(ComparedValues, AreEachNumberOfAnElement) {
  const auto one = [](const char *dtype, auto a, auto b) {
    return row(of_dtype(dtype, a, {1}), of_dtype(dtype, b, {1}));
  };
  EXPECT_EQ(one("complex64", std::vector<float>{1, 2}, std::vector<float>{1, 3}),
            "differs 1 0.5 1.2600000000000001e-05 1 2");
  EXPECT_EQ(one("complex128", std::vector<double>{1, 2}, std::vector<double>{1, 3}), "differs 1 0.5 3e-07 1 2");
  EXPECT_EQ(one("int32x2", std::vector<int32_t>{1, 2}, std::vector<int32_t>{1, 3}), "differs 1 0.5 0 1 2");
  EXPECT_EQ(row(of_dtype<int32_t>("int32x2", {1, 2}, {1}), of_dtype<int32_t>("int32", {1})), "differs - - - 1 1")
      << "nothing tells how they correspond";
}

TEST(ComparedValues, AreBytesIfTheDtypeHasNoNumbers) {
  const Tensor a = of_dtype<uint8_t>("float8_e4m3fn", {1, 2, 3}), b = of_dtype<uint8_t>("float8_e4m3fn", {1, 7, 9});
  EXPECT_EQ(row(a, b), "differs - - - 2 3");
  EXPECT_EQ(verdict(a, b), "first difference at result 0: 2 of 3 bytes of float8_e4m3fn[3] differ");
  const Tensor other = of_dtype<uint8_t>("int8", {1, 2, 3});
  EXPECT_EQ(row(a, other), "differs - - - 3 3");
  EXPECT_EQ(verdict(a, other),
            "first difference at result 0: float8_e4m3fn[3] in A cannot be compared with int8[3] in B");
  EXPECT_EQ(row(a, of_dtype<uint8_t>("float8_e4m3fn", {1, 2, 3})), "equal 0 0 - 0 3");
}

TEST(ComparedValues, HaveTheLargerToleranceOfTwoDtypes) {
  EXPECT_EQ(row(int32s({1, 2}), floats({1, 2})), "agrees 0 0 - 0 2");
  EXPECT_EQ(row(int32s({1, 2}), floats({1, 2.5})), "differs 0.5 0.25 1.2600000000000001e-05 1 2");
  const Tensor half = of_dtype<uint16_t>("float16", {0x4000}), brain = of_dtype<uint16_t>("bfloat16", {0x4000});
  EXPECT_EQ(row(floats({2}), half), "agrees 0 0 - 0 1");
  EXPECT_EQ(row(floats({1}), half), "differs 1 1 0.00101 1 1");
  EXPECT_EQ(row(half, floats({4})), "differs 2 1 0.00201 1 1");
  EXPECT_EQ(row(floats({1}), brain), "differs 1 1 0.01601 1 1");
  EXPECT_EQ(row(half, of_dtype<uint16_t>("bfloat16", {0x4080})), "differs 2 1 0.032010000000000004 1 1");
  EXPECT_EQ(row(tensor_of<double>("float64", {1}), floats({2})), "differs 1 1 1.13e-05 1 1");
}

TEST(ComparedValues, AgreeUpToTheTolerance) {
  const Tensor one = floats({1}), at = floats({1.5}), beyond = floats({std::nextafter(1.5F, 2.0F)});
  EXPECT_EQ(row(one, at, {.rtol = "0", .atol = "0.5"}).substr(0, 6), "agrees");
  EXPECT_EQ(row(one, beyond, {.rtol = "0", .atol = "0.5"}).substr(0, 7), "differs");
  EXPECT_EQ(row(at, one, {.rtol = "0.25", .atol = "0.125"}).substr(0, 6), "agrees") << "0.125 + 0.25 * 1.5 is 0.5";
  EXPECT_EQ(row(one, at, {.rtol = "0.25", .atol = "0.125"}).substr(0, 7), "differs") << "A's number counts";
  EXPECT_EQ(row(int32s({1}), int32s({2}), {.rtol = "5", .atol = "5"}).substr(0, 7), "differs") << "of real dtypes only";
  EXPECT_EQ(row(int32s({1}), int32s({2}), {.atol = "int32=1"}).substr(0, 6), "agrees") << "unless it is named";
  EXPECT_EQ(row(one, at, {.rtol = "0", .atol = "1,float32=0.1"}).substr(0, 7), "differs") << "the dtype's own counts";
  EXPECT_EQ(row(one, at, {.rtol = "0", .atol = "float32=0.1,1"}).substr(0, 7), "differs");
  const Tensor pair = of_dtype<float>("float32x2", {1, 1}, {1}), other = of_dtype<float>("float32x2", {1, 1.5}, {1});
  EXPECT_EQ(row(pair, other, {.atol = "float32=0.5"}).substr(0, 6), "agrees") << "whatever the lanes";
}

TEST(ComparedValues, HaveNoDistanceIfOneIsNanOrInfinite) {
  const Tensor nan = floats({NAN, 1}), number = floats({3, 1});
  EXPECT_EQ(row(nan, nan), "equal 0 0 - 0 2");
  EXPECT_EQ(row(nan, nan, {.equal_nan = false}), "differs - - - 1 2");
  EXPECT_EQ(row(nan, number), "differs - - - 1 2");
  EXPECT_EQ(verdict(nan, number), "first difference at result 0: 3 at [0], where A has NaN; 1 of 2 elements differ");
  EXPECT_EQ(verdict(floats({1, -INFINITY}), floats({1, 5})),
            "first difference at result 0: 5 at [1], where A has -inf; 1 of 2 elements differ");
  EXPECT_EQ(verdict(floats({1}), floats({INFINITY})),
            "first difference at result 0: inf at [0], where A has 1; 1 of 1 elements differ");
  EXPECT_EQ(row(floats({INFINITY}), floats({INFINITY})), "equal 0 0 - 0 1");
}

// Values are compared in blocks of 512 numbers. The place has an index for each dimension.
TEST(ComparedValues, AreNamedByTheirPlace) {
  std::vector<float> a(1300), b(1300);
  b[600] = 7, b[1299] = NAN;
  EXPECT_EQ(verdict(floats(a, {13, 100}), floats(b, {13, 100})),
            "first difference at result 0: NaN at [12, 99], where A has 0; 2 of 1300 elements differ");
  b[1299] = 0, b[700] = 7;
  EXPECT_EQ(row(floats(a), floats(b)).substr(0, 18), "differs 7 - 1e-05 ");
  EXPECT_EQ(verdict(floats({1, 2, 3}), floats({1, NAN, NAN})),
            "first difference at result 0: NaN at [1], where A has 2; 2 of 3 elements differ")
      << "the first of those that differ most";
  b[700] = 0;
  EXPECT_EQ(row(floats(a), floats(b)), "differs 7 - 1e-05 1 1300");
  EXPECT_EQ(verdict(of_dtype<float>("complex64", {0, 1, 2, 3, 4, 5}, {3}),
                    of_dtype<float>("complex64", {0, 1, 2, 3, NAN, 5}, {3})),
            "first difference at result 0: NaN at [2], where A has 4; 1 of 6 elements differ")
      << "the third element";
  EXPECT_EQ(verdict(floats({1, 2}), floats({1, 2, 3})),
            "first difference at result 0: float32[2] in A, float32[3] in B");
}

TEST(ComparedValues, HaveTheirDistanceInFewDigits) {
  const auto distance = [](double number) {
    const std::string text =
        verdict(tensor_of<double>("float64", {0}), tensor_of<double>("float64", {number}), {.rtol = "0", .atol = "0"});
    const size_t begin = text.find("max abs ");
    return begin == std::string::npos ? text : text.substr(begin + 8, text.find(" (") - begin - 8);
  };
  for (const auto &[number, text] : {std::pair(0.5, "0.5"),
                                     {123.456, "123"},
                                     {0.01234, "0.0123"},
                                     {0.01, "0.01"},
                                     {0.0077, "7.7e-3"},
                                     {0.007, "7e-3"},
                                     {1e-10, "1e-10"},
                                     {1e5, "1e5"},
                                     {-1.26e20, "1.3e20"},
                                     {1e-100, "1e-100"}})
    EXPECT_EQ(distance(number), text);
}

namespace {

// The bytes that a program gets of `given`, if it checks that its argument is of `dtype`.
template <class T>
std::vector<T> converted(const Tensor &given, const std::string &dtype) {
  std::vector<T> found;
  define("test.take",
         [&](const opd_value *args, int32_t, opd_value *) { found = elements_of<T>(Tensor::of(args[0])); });
  const std::string takes =
      "  call vm.builtin.check_tensor_info(%x, 1, dtype(" + dtype + "), \"x\")\n  call test.take(%x)\n";
  compared_values(arg(given), arg(given), {}, takes);
  return found;
}

}  // namespace

// IEEE 754's rounding to the nearest, ties to even.
TEST(Arguments, AreRoundedToFloat16AsIeeeRounds) {
  const std::pair<double, uint16_t> known[] = {{1, 0x3C00},
                                               {-2, 0xC000},
                                               {0.1, 0x2E66},
                                               {65504, 0x7BFF},
                                               {65519.999, 0x7BFF},
                                               {65520, 0x7C00},
                                               {-65520, 0xFC00},
                                               {1e300, 0x7C00},
                                               {0x1p-14, 0x0400},
                                               {0x1.FF8p-15, 0x03FF},
                                               {0x1.FFCp-15, 0x0400},
                                               {0x1p-24, 0x0001},
                                               {0x1p-25, 0x0000},
                                               {0x1.8p-24, 0x0002},
                                               {0x1.8p-25, 0x0001},
                                               {-0.0, 0x8000},
                                               {1 + 0x1p-11, 0x3C00},
                                               {1 + 0x3p-11, 0x3C02},
                                               {1 + 0x1p-11 + 0x1p-30, 0x3C01},
                                               {2047.5, 0x6800},
                                               {INFINITY, 0x7C00},
                                               {-INFINITY, 0xFC00},
                                               {NAN, 0x7E00}};
  std::vector<double> numbers;
  std::vector<uint16_t> bits;
  for (const auto &[number, half] : known) numbers.push_back(number), bits.push_back(half);
  EXPECT_EQ(converted<uint16_t>(tensor_of("float64", numbers), "float16"), bits);
}

TEST(Arguments, AreRoundedToBfloat16Once) {
  const std::pair<double, uint16_t> known[] = {{1, 0x3F80},
                                               {-2, 0xC000},
                                               {1 + 0x1p-8, 0x3F80},
                                               {1 + 0x3p-8, 0x3F82},
                                               {1 + 0x1p-8 + 0x1p-40, 0x3F81},
                                               {1 + 0x1p-8 - 0x1p-40, 0x3F80},
                                               {1 + 0x3p-8 - 0x1p-40, 0x3F81},
                                               {-1 - 0x1p-8 - 0x1p-40, 0xBF81},
                                               {3.39e38, 0x7F7F},
                                               {3.4e38, 0x7F80},
                                               {1e39, 0x7F80},
                                               {-1e39, 0xFF80},
                                               {-0.0, 0x8000},
                                               {INFINITY, 0x7F80},
                                               {NAN, 0x7FC0}};
  std::vector<double> numbers;
  std::vector<uint16_t> bits;
  for (const auto &[number, brain] : known) numbers.push_back(number), bits.push_back(brain);
  EXPECT_EQ(converted<uint16_t>(tensor_of("float64", numbers), "bfloat16"), bits);
}

TEST(Arguments, AreConvertedToWiderDtypesExactly) {
  EXPECT_EQ(converted<float>(of_dtype<uint16_t>("float16", {0x3555, 0x0001, 0x83FF, 0x7BFF, 0xFC00}), "float32"),
            (std::vector<float>{0.333251953125F, 0x1p-24F, -0x1.FF8p-15F, 65504, -INFINITY}));
  EXPECT_EQ(converted<double>(of_dtype<uint16_t>("bfloat16", {0x3F81, 0xC000}), "float64"),
            (std::vector<double>{1.0078125, -2}));
  std::vector<double> many;
  std::vector<float> narrowed;
  for (int i = 0; i < 1300; ++i) many.push_back(i / 7.0), narrowed.push_back(static_cast<float>(i / 7.0));
  EXPECT_EQ(converted<float>(tensor_of("float64", many), "float32"), narrowed);
  EXPECT_EQ(converted<float>(floats({1.25}), "float32"), std::vector<float>{1.25});
}

TEST(Arguments, MayBeTuplesOfTensors) {
  const Vm a = make_vm(
      ".func main(t) {\n  %p = call vm.builtin.tuple_getitem(%t, 0)\n  %q = call vm.builtin.tuple_getitem(%t, 1)\n"
      "  %r = call vm.builtin.tuple_getitem(%q, 0)\n  call test.add_one(%p, %r)\n  ret %t\n}");
  const Vm b = make_vm(
      ".func main(t) {\n  %p = call vm.builtin.tuple_getitem(%t, 0)\n  %q = call vm.builtin.tuple_getitem(%t, 1)\n"
      "  %r = call vm.builtin.tuple_getitem(%q, 0)\n  call test.add_one(%p, %r)\n  ret %t\n}");
  const Tensor x = floats({1, 2, 3, 4}), y = floats({0, 0, 0, 0});
  const Value inner = tuple_of(y), tuple = tuple_of(x, inner);
  const opdyno::Report report = opdyno::compare(a, b, "main", {tuple.view()}, nullptr, false).report;
  EXPECT_EQ(verdict(report), "no difference: 1 operator agrees bit for bit");
  EXPECT_EQ(report.count(), 3U) << "the operator, and both tensors of the result";
  EXPECT_EQ(to_floats(Value::of(y)), (std::vector<float>{0, 0, 0, 0})) << "the programs have copies";
}
