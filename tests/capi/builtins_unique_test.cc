// relax.run.unique, nonzero and shape_to_tensor. Expected values are what numpy 2 gave through TVM 0.27.
#include <cmath>

#include "support/tensors.h"

using namespace opdyno_test;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

namespace {

Ints ints_at(const Value &tuple, size_t index) { return elements_of<int64_t>(Tensor::of(item_of(tuple, index))); }
const Function &unique() {
  static const Function function = Function::global("relax.run.unique");
  return function;
}

}  // namespace

TEST(Unique, ReturnsOnlyATensorIfNothingElseIsRequested) {
  const Tensor x = int64s({3, 1, 1, 2, 3, 1});
  EXPECT_EQ(elements_of<int64_t>(Tensor::of(unique()(x, 1, 0, 0, 0))), (Ints{1, 2, 3}));
  EXPECT_EQ(elements_of<int64_t>(Tensor::of(unique()(x, 0, 0, 0, 0))), (Ints{3, 1, 2}));
  EXPECT_EQ(dims_of(Tensor::of(unique()(int64s({7}, {1, 1, 1}), true, false, false, false, nullptr))), (Ints{1}));
  EXPECT_EQ(dims_of(Tensor::of(unique()(Tensor({0, 3}, "float32"), 1, 0, 0, 0))), (Ints{0}));
}

TEST(Unique, GivesIndicesInverseAndCountsSortedOrByAppearance) {
  const Tensor x = int64s({3, 1, 1, 2, 3, 1});
  const Value sorted = unique()(x, 1, 1, 1, 1), seen = unique()(x, 0, 1, 1, 1), inverse = unique()(x, 0, 0, 1, 0);
  EXPECT_EQ(ints_at(sorted, 0), (Ints{1, 2, 3}));
  EXPECT_EQ(ints_at(sorted, 1), (Ints{1, 3, 0}));
  EXPECT_EQ(ints_at(sorted, 2), (Ints{2, 0, 0, 1, 2, 0}));
  EXPECT_EQ(ints_at(sorted, 3), (Ints{3, 1, 2}));
  EXPECT_EQ(ints_at(seen, 0), (Ints{3, 1, 2}));
  EXPECT_EQ(ints_at(seen, 1), (Ints{0, 1, 3}));
  EXPECT_EQ(ints_at(seen, 2), (Ints{0, 1, 1, 2, 0, 1}));
  EXPECT_EQ(ints_at(seen, 3), (Ints{2, 3, 1}));
  EXPECT_EQ(ints_at(inverse, 1), (Ints{0, 1, 1, 2, 0, 1}));
}

TEST(Unique, ComparesSlicesAlongAnAxis) {
  const Tensor x = floats({1, 2, 3, 4, 1, 2, 0, 9}, {4, 2});
  const Value sorted = unique()(x, 1, 1, 1, 1, 0), seen = unique()(x, 0, 1, 1, 1, 0);
  EXPECT_EQ(to_floats(item_of(sorted, 0)), (Floats{0, 9, 1, 2, 3, 4}));
  EXPECT_EQ(dims_of(Tensor::of(item_of(sorted, 0))), (Ints{3, 2}));
  EXPECT_EQ(ints_at(sorted, 1), (Ints{3, 0, 1}));
  EXPECT_EQ(ints_at(sorted, 2), (Ints{1, 2, 1, 0}));
  EXPECT_EQ(ints_at(sorted, 3), (Ints{1, 2, 1}));
  EXPECT_EQ(to_floats(item_of(seen, 0)), (Floats{1, 2, 3, 4, 0, 9}));
  EXPECT_EQ(ints_at(seen, 2), (Ints{0, 1, 0, 2}));
  const Value columns = unique()(int32s({1, 2, 1, 3, 4, 3}, {2, 3}), 1, 1, 1, 1, -1);
  EXPECT_EQ(elements_of<int32_t>(Tensor::of(item_of(columns, 0))), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(dims_of(Tensor::of(item_of(columns, 0))), (Ints{2, 2}));
  EXPECT_EQ(ints_at(columns, 2), (Ints{0, 1, 0}));
}

TEST(Unique, NanIsOneValueAndSoIsZero) {
  const Value result = unique()(floats({1, NAN, 0, -0.f, NAN}), 1, 0, 0, 1);
  EXPECT_EQ(to_floats(item_of(result, 0))[0], 0);
  EXPECT_TRUE(std::isnan(to_floats(item_of(result, 0))[2]));
  EXPECT_EQ(ints_at(result, 1), (Ints{2, 1, 2}));
}

TEST(Unique, ReadsStridedTensors) {
  float numbers[] = {1, 5, 2, 6, 1, 7};
  int64_t dims[] = {3}, strides[] = {2};
  DLTensor view{numbers, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, dims, strides, 0};
  EXPECT_EQ(to_floats(unique()(opd_dltensor(&view), 1, 0, 0, 0)), (Floats{1, 2}));
}

TEST(Unique, RefusesBadArgumentsWithTheReason) {
  const Tensor x = int64s({1, 2});
  expect_throws([&] { unique()(x, 1, 0, 0); }, OPD_INVALID_ARGUMENT, "relax.run.unique: the arguments are (x, sorted,");
  expect_throws([&] { unique()(x, 1, 0, 0, 0, 1); }, OPD_OUT_OF_RANGE, "axis is 1, but the tensor is of rank 1");
  expect_throws([&] { unique()(Tensor({}, "float32"), 1, 0, 0, 0, 0); }, OPD_OUT_OF_RANGE, "rank 0");
  expect_throws([&] { unique()(4, 1, 0, 0, 0); }, OPD_INVALID_ARGUMENT, "x must be a tensor");
  expect_throws([&] { unique()(Tensor({2}, "complex64"), 1, 0, 0, 0); }, OPD_UNSUPPORTED,
                "x must be of an integer dtype");
  expect_throws(
      [&] {
        unique()(Tensor({1 << 30, 0}, "float32"), 1, 0, 0, 0, 0);
      },
      OPD_INVALID_ARGUMENT, "must have elements");
}

TEST(Nonzero, GivesTheIndicesOfEachAxis) {
  const Function nonzero = Function::global("relax.run.nonzero");
  const Tensor places = Tensor::of(nonzero(floats({0, 1.5f, -0.f, -2, 0, NAN}, {2, 3})));
  EXPECT_EQ(dims_of(places), (Ints{2, 3}));
  EXPECT_EQ(elements_of<int64_t>(places), (Ints{0, 1, 1, 1, 0, 2}));
  EXPECT_EQ(
      elements_of<int64_t>(Tensor::of(nonzero(tensor_of<uint64_t>("uint64", {0, UINT64_MAX, uint64_t{1} << 63})))),
      (Ints{1, 2}));
  EXPECT_EQ(dims_of(Tensor::of(nonzero(tensor_of<uint8_t>("bool", {0, 0, 0, 0}, {2, 2})))), (Ints{2, 0}));
  const Tensor scalar({}, "int64");
  *scalar.data<int64_t>() = 3;
  EXPECT_EQ(elements_of<int64_t>(Tensor::of(nonzero(scalar))), (Ints{0}));
}

TEST(ShapeToTensor, GivesInt64) {
  const Function convert = Function::global("relax.run.shape_to_tensor");
  EXPECT_EQ(elements_of<int64_t>(Tensor::of(convert(shape_of({2, 0, 7})))), (Ints{2, 0, 7}));
  EXPECT_EQ(dims_of(Tensor::of(convert(shape_of({})))), (Ints{0}));
  expect_throws([&] { convert(3); }, OPD_INVALID_ARGUMENT, "shape must be");
}

TEST(Unique, AProgramGetsATupleOfTensors) {
  const Vm vm = vm_of(R"(
.func main(x) {
  %r = call relax.run.unique(%x, 1, 0, 0, 1)
  %n = call vm.builtin.tuple_getitem(%r, 1)
  ret %n
})");
  EXPECT_EQ(elements_of<int64_t>(Tensor::of(vm.call("main", floats({2, 2, 5})))), (Ints{2, 1}));
  expect_throws([&] { vm.call("main", 3); }, OPD_INVALID_ARGUMENT, "relax.run.unique: x must be a tensor");
}

TEST(Unique, ComparesSlicesOfTheMiddleAxis) {
  // The slices along axis 1 are 1 2 | 7 8, 3 4 | 5 6 and 1 2 | 7 8.
  const Tensor x = int32s({1, 2, 3, 4, 1, 2, 7, 8, 5, 6, 7, 8}, {2, 3, 2});
  const Value result = unique()(x, 1, 1, 1, 1, 1);
  EXPECT_EQ(elements_of<int32_t>(Tensor::of(item_of(result, 0))), (std::vector<int32_t>{1, 2, 3, 4, 7, 8, 5, 6}));
  EXPECT_EQ(dims_of(Tensor::of(item_of(result, 0))), (Ints{2, 2, 2}));
  EXPECT_EQ(ints_at(result, 1), (Ints{0, 1}));
  EXPECT_EQ(ints_at(result, 2), (Ints{0, 1, 0}));
  EXPECT_EQ(ints_at(result, 3), (Ints{2, 1}));
}

TEST(Unique, ReturnsEachOtherResultByItself) {
  const Tensor x = int64s({3, 1, 1});
  const auto second = [&](int index, int inverse, int counts) {
    const Value result = unique()(x, 1, index, inverse, counts);
    EXPECT_EQ(opd_array_count(reinterpret_cast<const opd_array *>(result.view().u.object)), 2);
    return ints_at(result, 1);
  };
  EXPECT_EQ(second(1, 0, 0), (Ints{1, 0}));
  EXPECT_EQ(second(0, 1, 0), (Ints{1, 0, 0}));
  EXPECT_EQ(second(0, 0, 1), (Ints{2, 1}));
}

TEST(Nonzero, ListsThreeAxesInRowMajorOrder) {
  const Function nonzero = Function::global("relax.run.nonzero");
  const Tensor places = Tensor::of(nonzero(int32s({0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1}, {2, 3, 2})));
  EXPECT_EQ(dims_of(places), (Ints{3, 3}));
  EXPECT_EQ(elements_of<int64_t>(places), (Ints{0, 1, 1, 2, 0, 2, 1, 0, 1}));
}
