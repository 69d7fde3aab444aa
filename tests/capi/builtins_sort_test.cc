// tvm.contrib.sort.*. Expected values are what TVM 0.27's functions of the same names wrote, unless arithmetic is
// shown.
#include <cmath>

#include "support/tensors.h"

using namespace opdyno_test;

namespace {

const std::vector<float> kData = {3, 1, 2, 1, 0, -5, 7, 0};  // [2, 4]
Tensor data() { return floats(kData, {2, 4}); }
Function sort_function(const std::string &name) { return Function::global(("tvm.contrib.sort." + name).c_str()); }

std::vector<int64_t> argsorted(int axis, bool ascending) {
  const Tensor out({2, 4}, "int64");
  sort_function("argsort")(data(), out, axis, ascending);
  return elements_of<int64_t>(out);
}

std::vector<float> sorted(int axis, bool ascending) {
  const Tensor out({2, 4}, "float32");
  sort_function("sort")(data(), out, axis, ascending);
  return to_floats(arg(out));
}

template <class T>
std::vector<int32_t> order_of(const char *dtype, const std::vector<T> &values, bool ascending) {
  const Tensor out({static_cast<int64_t>(values.size())}, "int32");
  sort_function("argsort")(tensor_of(dtype, values), out, 0, ascending);
  return elements_of<int32_t>(out);
}

}  // namespace

TEST(Sort, RanksAlongAnyAxisInEitherDirectionAndKeepsTheOrderOfEquals) {
  EXPECT_EQ(argsorted(0, true), (std::vector<int64_t>{1, 1, 0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(argsorted(0, false), (std::vector<int64_t>{0, 0, 1, 0, 1, 1, 0, 1}));
  EXPECT_EQ(argsorted(1, true), (std::vector<int64_t>{1, 3, 2, 0, 1, 0, 3, 2}));
  EXPECT_EQ(argsorted(-1, false), (std::vector<int64_t>{0, 2, 1, 3, 2, 0, 3, 1}));
  EXPECT_EQ(sorted(0, true), (std::vector<float>{0, -5, 2, 0, 3, 1, 7, 1}));
  EXPECT_EQ(sorted(-2, false), (std::vector<float>{3, 1, 7, 1, 0, -5, 2, 0}));
  EXPECT_EQ(sorted(1, true), (std::vector<float>{1, 1, 2, 3, -5, 0, 0, 7}));
  EXPECT_EQ(sorted(1, false), (std::vector<float>{3, 2, 1, 1, 7, 0, 0, -5}));
}

TEST(Sort, SortsInPlace) {
  const Tensor x = data();
  sort_function("sort")(x, x, 1, true);
  EXPECT_EQ(to_floats(arg(x)), (std::vector<float>{1, 1, 2, 3, -5, 0, 0, 7}));
}

TEST(Sort, SortsEveryNumberType) {
  const std::vector<int32_t> up = {1, 2, 0}, down = {0, 2, 1};
  EXPECT_EQ(order_of<int8_t>("int8", {127, -128, 0}, true), up);
  EXPECT_EQ(order_of<uint8_t>("uint8", {255, 0, 128}, true), up);
  EXPECT_EQ(order_of<int16_t>("int16", {32767, -32768, 0}, true), up);
  EXPECT_EQ(order_of<uint16_t>("uint16", {65535, 0, 32768}, false), down);
  EXPECT_EQ(order_of<int64_t>("int64", {INT64_MAX, INT64_MIN, 0}, true), up);
  EXPECT_EQ(order_of<int64_t>("int64", {INT64_MAX, INT64_MIN, 0}, false), down);
  EXPECT_EQ(order_of<uint32_t>("uint32", {4294967295u, 0, 2147483648u}, true), up);
  EXPECT_EQ(order_of<uint64_t>("uint64", {UINT64_MAX, 0, uint64_t{1} << 63}, true), up);
  EXPECT_EQ(order_of<double>("float64", {1e300, -1e300, 1e-300}, true), up);
  EXPECT_EQ(order_of<double>("float64", {INFINITY, -INFINITY, 0}, false), down);
  // float16 1.5, -2, 0, 65504, -0: 0 and -0 are equal
  EXPECT_EQ(order_of<uint16_t>("float16", {0x3e00, 0xc000, 0, 0x7bff, 0x8000}, true),
            (std::vector<int32_t>{1, 2, 4, 0, 3}));
  // bfloat16 2, -1, 1
  EXPECT_EQ(order_of<uint16_t>("bfloat16", {0x4000, 0xbf80, 0x3f80}, true), up);
}

TEST(Sort, PutsNanLastInEitherDirection) {
  EXPECT_EQ(order_of<float>("float32", {NAN, 1, -NAN, INFINITY, -1}, true), (std::vector<int32_t>{4, 1, 3, 0, 2}));
  EXPECT_EQ(order_of<float>("float32", {NAN, 1, -NAN, -INFINITY, -1}, false), (std::vector<int32_t>{1, 4, 3, 0, 2}));
}

TEST(Sort, WritesIndicesInTheTypesThatTvmOffers) {
  const Tensor as_float({3}, "float32"), as_double({3}, "float64");
  sort_function("argsort")(floats({3, 1, 2}), as_float, 0, true);
  sort_function("argsort")(floats({3, 1, 2}), as_double, 0, true);
  EXPECT_EQ(to_floats(arg(as_float)), (std::vector<float>{1, 2, 0}));
  EXPECT_EQ(elements_of<double>(as_double), (std::vector<double>{1, 2, 0}));
}

TEST(Sort, TopkGivesValuesIndicesOrBoth) {
  const Tensor values({2, 2}, "float32"), indices({2, 2}, "int32"), first({1, 4}, "int64"), all({2, 4}, "float32");
  sort_function("topk")(data(), values, indices, 2, -1, "both", false);
  EXPECT_EQ(to_floats(arg(values)), (std::vector<float>{3, 2, 7, 0}));
  EXPECT_EQ(elements_of<int32_t>(indices), (std::vector<int32_t>{0, 2, 2, 0}));
  sort_function("topk")(data(), first, 1, 0, "indices", true);
  EXPECT_EQ(elements_of<int64_t>(first), (std::vector<int64_t>{1, 1, 0, 1}));
  sort_function("topk")(data(), all, 0, 1, "values", false);  // k below 1: all
  EXPECT_EQ(to_floats(arg(all)), (std::vector<float>{3, 2, 1, 1, 7, 0, 0, -5}));
}

TEST(Sort, ArgsortNmsRanksTheFirstElementsOnly) {
  const Tensor out({2, 4}, "int32");
  sort_function("argsort_nms")(data(), int32s({3, 2}), out, 1, false);
  EXPECT_EQ(elements_of<int32_t>(out), (std::vector<int32_t>{0, 2, 1, 3, 0, 1, 2, 3}));
  sort_function("argsort_nms")(data(), int32s({-1, 0}), out, 1, false);
  EXPECT_EQ(elements_of<int32_t>(out), (std::vector<int32_t>{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(Sort, EmptyTensorsAreSorted) {
  const Tensor none({0, 4}, "float32"), out({0, 4}, "int32"), wide({4, 0}, "float32"), wide_out({4, 0}, "int32");
  sort_function("argsort")(none, out, 0, true);
  sort_function("argsort")(wide, wide_out, 1, true);
}

TEST(Sort, RefusesBadArgumentsWithTheReason) {
  const Tensor out({2, 4}, "int64"), values({2, 5}, "float32");
  const auto argsort = sort_function("argsort"), topk = sort_function("topk"), nms = sort_function("argsort_nms"),
             sort = sort_function("sort");
  expect_throws([&] { argsort(data(), out, 2, true); }, OPD_OUT_OF_RANGE,
                "tvm.contrib.sort.argsort: axis is 2, but the tensor is of rank 2");
  expect_throws([&] { argsort(data(), out, -3, true); }, OPD_OUT_OF_RANGE, "axis is -3");
  expect_throws([&] { argsort(data(), out, 0); }, OPD_INVALID_ARGUMENT,
                "(input, output, axis, is_ascend), but 3 were given");
  expect_throws([&] { argsort(3, out, 0, true); }, OPD_INVALID_ARGUMENT, "input");
  expect_throws(
      [&] {
        argsort(data(), Tensor({4, 2}, "int64"), 0, true);
      },
      OPD_INVALID_ARGUMENT, "output must have the shape of input, float32[2, 4] on cpu:0, but is int64[4, 2]");
  expect_throws(
      [&] {
        argsort(data(), Tensor({2, 4}, "float16"), 0, true);
      },
      OPD_UNSUPPORTED, "output must be of dtype");
  expect_throws(
      [&] {
        argsort(Tensor({2, 4}, "complex64"), out, 0, true);
      },
      OPD_UNSUPPORTED, "input must be of an integer dtype");
  expect_throws([&] { argsort(Tensor({200}, "float32"), Tensor({200}, "int8"), 0, true); }, OPD_INVALID_ARGUMENT,
                "cannot represent 200 indices");
  expect_throws([&] { sort(data(), out, 0, true); }, OPD_INVALID_ARGUMENT,
                "output must be of dtype float32, but is int64[2, 4]");
  expect_throws([&] { topk(data(), values, 5, 1, "values", false); }, OPD_OUT_OF_RANGE,
                "k is 5, but axis 1 of input, float32[2, 4] on cpu:0, has 4 elements");
  expect_throws([&] { topk(data(), values, 2, 1, "values", false); }, OPD_INVALID_ARGUMENT,
                "values must be as input, float32[2, 4] on cpu:0, with 2 elements along axis 1");
  expect_throws([&] { topk(data(), values, 2, 1, "some", false); }, OPD_INVALID_ARGUMENT,
                "ret_type must be both, values or indices, but is some");
  expect_throws([&] { topk(data(), values, 2, 1, "both", false); }, OPD_INVALID_ARGUMENT, "6 were given");
  expect_throws(
      [&] {
        nms(data(), int32s({5, 0}), Tensor({2, 4}, "int32"), 1, true);
      },
      OPD_OUT_OF_RANGE, "sort_num must be at most 4, the size of the axis, but is 5");
  expect_throws(
      [&] {
        nms(data(), int32s({1}), Tensor({2, 4}, "int32"), 1, true);
      },
      OPD_INVALID_ARGUMENT, "sort_num must have an element for each of the 2 lines");
  int64_t dims[] = {2, 2}, strides[] = {1, 2};
  float numbers[4] = {};
  DLTensor transposed{numbers, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, dims, strides, 0};
  expect_throws(
      [&] {
        argsort(opd_dltensor(&transposed), Tensor({2, 2}, "int32"), 0, true);
      },
      OPD_INVALID_ARGUMENT, "input must lie compactly on the CPU");
}

TEST(Sort, ReadsViewsWithAnOffset) {
  float numbers[4] = {9, 3, 1, 2};
  int64_t dims[] = {3};
  DLTensor view{numbers, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, dims, nullptr, 4};
  const Tensor out({3}, "int32");
  sort_function("argsort")(opd_dltensor(&view), out, 0, true);
  EXPECT_EQ(elements_of<int32_t>(out), (std::vector<int32_t>{1, 2, 0}));
}

// A tensor of any number of lines of no elements tells how many indices a dtype can hold.
TEST(Sort, RefusesMoreIndicesThanTheirDtypeCanHold) {
  const auto sorted = [](const char *dtype, int64_t count, int64_t lines) {
    const std::vector<int64_t> dims{count, lines};
    sort_function("argsort")(Tensor(dims, "int8"), Tensor(dims, dtype), 0, true);
  };
  for (const auto &[dtype, most] : {std::pair<const char *, int64_t>{"int8", 128},
                                    {"uint8", 256},
                                    {"int32", int64_t{1} << 31},
                                    {"float32", 1 << 24},
                                    {"float64", int64_t{1} << 53}}) {
    sorted(dtype, most, 0);
    expect_throws(
        [&, dtype = dtype, most = most] { sorted(dtype, most + 1, 0); }, OPD_INVALID_ARGUMENT,
        "output, of dtype " + std::string(dtype) + ", cannot represent " + std::to_string(most + 1) + " indices");
  }
  sorted("int64", INT64_MAX, 0);
}

TEST(Sort, WritesTheHighestIndicesOfSmallTypes) {
  std::vector<int16_t> falling(256);
  for (size_t i = 0; i < falling.size(); ++i) falling[i] = static_cast<int16_t>(-static_cast<int>(i));
  const Tensor bytes({256}, "uint8"), few({128}, "int8");
  sort_function("argsort")(tensor_of("int16", falling), bytes, 0, true);
  falling.resize(128);
  sort_function("argsort")(tensor_of("int16", falling), few, 0, true);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(int{bytes.data<uint8_t>()[i]}, 255 - i);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(int{few.data<int8_t>()[i]}, 127 - i);
}

TEST(Sort, InfinityStandsBeforeNanInEveryFloatType) {
  const std::vector<int32_t> up = {2, 1, 0}, down = {1, 2, 0};
  EXPECT_EQ(order_of<uint16_t>("float16", {0x7c01, 0x7c00, 0x7bff}, true), up);
  EXPECT_EQ(order_of<uint16_t>("float16", {0x7c01, 0x7c00, 0x7bff}, false), down);
  EXPECT_EQ(order_of<uint16_t>("bfloat16", {0x7f81, 0x7f80, 0x7f7f}, true), up);
  EXPECT_EQ(order_of<uint16_t>("bfloat16", {0x7f81, 0x7f80, 0x7f7f}, false), down);
  EXPECT_EQ(order_of<double>("float64", {NAN, INFINITY, 1e308}, true), up);
  EXPECT_EQ(order_of<double>("float64", {NAN, INFINITY, 1e308}, false), down);
  EXPECT_EQ(order_of<uint8_t>("bool", {1, 0, 1}, true), (std::vector<int32_t>{1, 0, 2}));
  EXPECT_EQ(order_of<int32_t>("int32", {INT32_MAX, INT32_MIN, 0}, true), (std::vector<int32_t>{1, 2, 0}));
}

TEST(Sort, TheMiddleAxisHasLinesBeforeAndAfterIt) {
  const Tensor x = int32s({5, 1, 3, 2, 4, 0, 6, 9, 8, 7, 11, 10}, {2, 3, 2});
  const Tensor order({2, 3, 2}, "int64"), values({2, 2, 2}, "int32"), indices({2, 2, 2}, "int64");
  sort_function("argsort")(x, order, 1, true);
  // The lines are 5 3 4, 1 2 0, 6 8 11 and 9 7 10.
  EXPECT_EQ(elements_of<int64_t>(order), (std::vector<int64_t>{1, 2, 2, 0, 0, 1, 0, 1, 1, 0, 2, 2}));
  sort_function("topk")(x, values, indices, 2, 1, "both", false);
  EXPECT_EQ(elements_of<int32_t>(values), (std::vector<int32_t>{5, 2, 4, 1, 11, 10, 8, 9}));
  EXPECT_EQ(elements_of<int64_t>(indices), (std::vector<int64_t>{0, 1, 2, 0, 2, 2, 1, 0}));
  const Tensor places({2, 3, 2}, "int32");
  const Tensor numbers = floats({5, 1, 3, 2, 4, 0, 6, 9, 8, 7, 11, 10}, {2, 3, 2});
  sort_function("argsort_nms")(numbers, int32s({2, 3, 1, 0}), places, 1, true);
  EXPECT_EQ(elements_of<int32_t>(places), (std::vector<int32_t>{1, 2, 0, 0, 2, 1, 0, 0, 1, 1, 2, 2}));
}

TEST(Sort, TopkTakesOneOrAll) {
  const Tensor one({2, 1}, "float32"), all({2, 4}, "float32");
  sort_function("topk")(data(), one, 1, -1, "values", true);
  EXPECT_EQ(to_floats(arg(one)), (std::vector<float>{1, -5}));
  for (const int k : {4, 0, -1}) {
    sort_function("topk")(data(), all, k, 1, "values", true);
    EXPECT_EQ(to_floats(arg(all)), (std::vector<float>{1, 1, 2, 3, -5, 0, 0, 7})) << k;
  }
  expect_throws([&] { sort_function("topk")(data(), all, 1, 1, "both", true); }, OPD_INVALID_ARGUMENT,
                "(input, values, indices, k, axis, \"both\", is_ascend), but 6 were given");
  expect_throws([&] { sort_function("topk")(data(), all, all, 1, 1, "values", true); }, OPD_INVALID_ARGUMENT,
                "(input, output, k, axis, ret_type, is_ascend), but 7 were given");
}
