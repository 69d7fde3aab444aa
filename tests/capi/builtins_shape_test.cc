// Shapes: matched against a heap of sizes, made from it, made of tensors. The codes are those of TVM's VM
// (src/runtime/vm/builtin.cc): 0 a number, 1 store (or load), 2 anything, 3 equal to a slot.
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

using Ints = std::vector<int64_t>;

Tensor heap_of(const Ints &slots) {
  const Tensor heap({static_cast<int64_t>(slots.size())}, "int64");
  std::copy(slots.begin(), slots.end(), heap.data<int64_t>());
  return heap;
}

template <class T>
Tensor vector_of(const char *dtype, const std::vector<T> &numbers) {
  const Tensor made({static_cast<int64_t>(numbers.size())}, dtype);
  std::copy(numbers.begin(), numbers.end(), made.data<T>());
  return made;
}
template <class T>
Ints shape_from(const char *dtype, const std::vector<T> &numbers) {
  const Value made = builtin("tensor_to_shape")(vector_of<T>(dtype, numbers));
  return Shape::of(made.view()).dims();
}

}  // namespace

TEST(TensorToShape, TakesIntegersOfEveryWidth) {
  EXPECT_EQ(shape_from<int8_t>("int8", {1, 127, -128}), (Ints{1, 127, -128}));
  EXPECT_EQ(shape_from<uint8_t>("uint8", {1, 255}), (Ints{1, 255}));
  EXPECT_EQ(shape_from<int16_t>("int16", {1, 32767, -32768}), (Ints{1, 32767, -32768}));
  EXPECT_EQ(shape_from<uint16_t>("uint16", {1, 65535}), (Ints{1, 65535}));
  EXPECT_EQ(shape_from<int32_t>("int32", {1, INT32_MAX, INT32_MIN}), (Ints{1, INT32_MAX, INT32_MIN}));
  EXPECT_EQ(shape_from<uint32_t>("uint32", {1, UINT32_MAX}), (Ints{1, UINT32_MAX}));
  EXPECT_EQ(shape_from<int64_t>("int64", {1, INT64_MAX}), (Ints{1, INT64_MAX}));
  EXPECT_EQ(shape_from<int64_t>("int64", {}), (Ints{}));
}

TEST(TensorToShape, RefusesTensorsOtherThanVectorsOfIntegers) {
  const Function convert = builtin("tensor_to_shape");
  const auto refused = [&](const Tensor &tensor, const char *part) {
    expect_throws([&] { convert(tensor); }, OPD_INVALID_ARGUMENT, part);
  };
  refused(floats({1, 2}), "a vector of integers without gaps is needed, not float32[2]");
  refused(Tensor({2, 1}, "int64"), "not int64[2, 1]");
  refused(Tensor(Ints{}, "int64"), "not int64[]");
  refused(Tensor({2}, "int32x2"), "not int32x2[2]");
  refused(Tensor({2}, "int4"), "a vector of integers is needed, not int4[2]");
}

TEST(MatchShape, ComparesStoresAndSkipsSizes) {
  const Function match = builtin("match_shape");
  const Tensor heap = heap_of({10, 20, 30}), x({2, 3, 4}, "float32");
  match(x, heap, 3, 0, 2, 1, 1, 2, 0, "x");
  EXPECT_EQ(elements_of<int64_t>(heap), (Ints{10, 3, 30})) << "a number, the slot 1, anything";
  match(shape_of({3, 30}), heap, 2, 3, 1, 3, 2, "s");
  match(shape_of({}), heap, 0, "s");
  const auto fails = [&](const std::string &part, auto... args) {
    expect_throws([&] { match(args...); }, OPD_INVALID_ARGUMENT, part);
  };
  fails("expected dimension 1 to be 7, but it is 3", x, heap, 3, 2, 0, 0, 7, 2, 0, "x");
  fails("expected dimension 2 to be 30, but it is 4", x, heap, 3, 2, 0, 2, 0, 3, 2, "x");
  fails("expected a shape of rank 2, but got [2, 3, 4]", x, heap, 2, 2, 0, 2, 0, "x");
  fails("expected a shape of rank 4, but got [2, 3, 4]", x, heap, 4, 2, 0, 2, 0, 2, 0, 2, 0, "x");
  fails("match code 4 is not known", x, heap, 3, 4, 0, 2, 0, 2, 0, "x");
  fails("match code -1 is not known", x, heap, 3, -1, 0, 2, 0, 2, 0, "x");
  fails("match_shape of 3 sizes takes 4 arguments and 2 for each size, but 8 were given", x, heap, 3, 2, 0, 2, 0, "x");
  fails("match_shape of -1 sizes", x, heap, -1, "x");
  fails("must be a tensor or shape", 3, heap, 0, "x");
  fails("the shape heap must be a vector of int64 on the CPU, but is float32[1]", x, floats({1}), 0, "x");
  for (const int64_t slot : {int64_t{-1}, int64_t{3}})
    for (const int64_t code : {1, 3})
      expect_throws([&] { match(shape_of({5}), heap, 1, code, slot, "x"); }, OPD_OUT_OF_RANGE,
                    "slot " + std::to_string(slot) + " of a shape heap of 3");
  EXPECT_EQ(elements_of<int64_t>(heap), (Ints{10, 3, 30}));
}

TEST(MatchPrimValue, ComparesAndStoresOneNumber) {
  const Function match = builtin("match_prim_value");
  const Tensor heap = heap_of({10, 20});
  match(5, heap, 1, 1, "n");
  EXPECT_EQ(elements_of<int64_t>(heap), (Ints{10, 5}));
  match(5, heap, 3, 1, "n");
  match(5, heap, 0, 5, "n");
  match(6, heap, 2, 0, "n");
  expect_throws([&] { match(6, heap, 3, 1, "n"); }, OPD_INVALID_ARGUMENT, "expected the value to be 5, but it is 6");
  expect_throws([&] { match(6, heap, 0, 7, "n"); }, OPD_INVALID_ARGUMENT, "expected the value to be 7, but it is 6");
}

TEST(MakeShape, TakesNumbersAndSlots) {
  const Function make = builtin("make_shape"), value = builtin("make_prim_value");
  const Tensor heap = heap_of({10, 20});
  const Value made = make(heap, 3, 0, 7, 1, 1, 1, 0);
  EXPECT_EQ(Shape::of(made.view()).dims(), (Ints{7, 20, 10}));
  EXPECT_EQ(Shape::of(make(heap, 0).view()).dims(), (Ints{}));
  EXPECT_EQ(value(heap, 0, 7).view().u.int64, 7);
  EXPECT_EQ(value(heap, 1, 1).view().u.int64, 20);
  expect_throws([&] { make(heap, 1, 2, 0); }, OPD_INVALID_ARGUMENT, "make code 2 is not known");
  expect_throws([&] { value(heap, 3, 0); }, OPD_INVALID_ARGUMENT, "make code 3 is not known");
  expect_throws([&] { make(heap, 2, 0, 7); }, OPD_INVALID_ARGUMENT,
                "make_shape of 2 sizes takes 2 arguments and 2 for each size, but 4 were given");
  expect_throws([&] { make(heap, 1, 1, 2); }, OPD_OUT_OF_RANGE, "slot 2 of a shape heap of 2");
  expect_throws([&] { value(heap, 1, -1); }, OPD_OUT_OF_RANGE, "slot -1 of a shape heap of 2");
}

TEST(AllocShapeHeap, MakesZerosOfALimitedNumber) {
  const Vm vm = vm_of(".func main(n) {\n  %h = call vm.builtin.alloc_shape_heap(%vm, %n)\n  ret %h\n}\n");
  EXPECT_EQ(elements_of<int64_t>(Tensor::of(vm.call("main", 3))), (Ints{0, 0, 0}));
  EXPECT_EQ(Tensor::of(vm.call("main", 0)).shape(), (Ints{0}));
  for (const int64_t size : {int64_t{-1}, (int64_t{1} << 24) + 1})
    expect_throws([&] { vm.call("main", size); }, OPD_OUT_OF_RANGE,
                  "vm.builtin.alloc_shape_heap: a shape heap of " + std::to_string(size) + " slots");
  expect_throws([] { builtin("alloc_shape_heap")(1, 2); }, OPD_INVALID_ARGUMENT,
                "the first argument must be the VM that makes the call");
}

TEST(MakeShape, TakesNumbersOnlyWithoutAHeap) {
  const Function make = builtin("make_shape"), match = builtin("match_shape");
  EXPECT_EQ(Shape::of(make(nullptr, 2, 0, 7, 0, 8).view()).dims(), (Ints{7, 8}));
  match(shape_of({7}), nullptr, 1, 0, 7, "x");
  expect_throws([&] { make(nullptr, 1, 1, 0); }, OPD_OUT_OF_RANGE, "slot 0 of a shape heap of 0");
  expect_throws([&] { match(shape_of({7}), nullptr, 1, 3, 0, "x"); }, OPD_OUT_OF_RANGE, "slot 0 of a shape heap of 0");
  EXPECT_EQ(Shape::of(builtin("shape_of")(Tensor({2, 0, 5}, "int8")).view()).dims(), (Ints{2, 0, 5}));
  EXPECT_EQ(Shape::of(builtin("shape_of")(Tensor(Ints{}, "int8")).view()).dims(), (Ints{}));
}
