// Builtins that look at memory or make views of it: runtime.TVMTensorCreateView, vm.builtin.ensure_zero_offset,
// vm.builtin.read_if_cond.
#include "support/tensors.h"

using namespace opdyno_test;
using Floats = std::vector<float>;

namespace {

Function create_view() { return Function::global("runtime.TVMTensorCreateView"); }

Floats floats_in(const Tensor &tensor) {
  Floats out(static_cast<size_t>(tensor.size()));
  tensor.copy_to_bytes(out.data(), out.size() * sizeof(float));
  return out;
}

}  // namespace

TEST(CreateView, SharesTheDataAndKeepsItsAlignment) {
  const Tensor x = floats({0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor view = Tensor::of(create_view()(x, shape_of({2, 2}), "float32", 16));
  EXPECT_EQ(view.view().data, x.view().data) << "a kernel takes the alignment of the data for granted";
  EXPECT_EQ(view.view().byte_offset, 16u);
  EXPECT_EQ(floats_in(view), (Floats{4, 5, 6, 7}));
  const Tensor inner = Tensor::of(create_view()(view, shape_of({1}), "float32", 8));
  EXPECT_EQ(inner.view().byte_offset, 24u) << "from the start of the data";
  EXPECT_EQ(floats_in(inner), (Floats{6}));
}

TEST(CreateView, TakesOtherElementsAndNoMoreBytesThanThereAre) {
  const Tensor x = floats({1, 0, 0, 0});
  EXPECT_EQ(Tensor::of(create_view()(x, shape_of({2}), "int64", 0)).data<int64_t>()[0], 0x3F800000);
  for (const auto &[dims, offset] : {std::pair<int64_t, int64_t>{5, 0}, {4, 4}, {1, 16}, {1, -4}})
    expect_throws([&, dims = dims, offset = offset] { create_view()(x, shape_of({dims}), "float32", offset); },
                  OPD_INVALID_ARGUMENT, "does not lie within the 16 bytes");
  expect_throws([&] { create_view()(x, shape_of({1}), 3.5, 0); }, OPD_INVALID_ARGUMENT, "dtype");
}

TEST(EnsureZeroOffset, CopiesOnlyATensorWithAnOffset) {
  const Function ensure = Function::global("vm.builtin.ensure_zero_offset");
  const Tensor x = floats({1, 2, 3, 4});
  EXPECT_EQ(Tensor::of(ensure(x)).view().data, x.view().data);
  const Tensor moved = Tensor::of(ensure(create_view()(x, shape_of({2}), "float32", 8)));
  EXPECT_EQ(moved.view().byte_offset, 0u);
  EXPECT_NE(moved.view().data, x.view().data);
  EXPECT_EQ(floats_in(moved), (Floats{3, 4}));
}

TEST(ReadIfCond, TakesEveryIntegerAndNothingElse) {
  const Function read = Function::global("vm.builtin.read_if_cond");
  for (const char *dtype : {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}) {
    Tensor x({}, dtype);
    const std::vector<char> zeros(opd_tensor_bytes(x.get()), 0);
    x.copy_from_bytes(zeros.data(), zeros.size());
    EXPECT_EQ(read(x).view().u.int64, 0) << dtype;
    std::vector<char> high = zeros;
    high.back() = 1;  // of the highest byte, so that the whole element must be read
    x.copy_from_bytes(high.data(), high.size());
    EXPECT_EQ(read(x).view().u.int64, 1) << dtype;
  }
  expect_throws([&] { read(Tensor({}, "float32")); }, OPD_INVALID_ARGUMENT, "one integer or bool");
  expect_throws([&] { read(int64s({1, 2})); }, OPD_INVALID_ARGUMENT, "one integer or bool");
}

TEST(ATensorOfAProgram, IsNotUniqueWhileAnotherTensorSharesItsStorage) {
  const Vm vm(Executable::assemble(R"(.func halves() {
  %s = call vm.builtin.alloc_storage(%vm, shape(128), 0, dtype(uint8))
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(32), dtype(float32))
  %b = call vm.builtin.alloc_tensor(%s, 0, shape(32), dtype(float32))
  %r = call vm.builtin.make_tuple(%a, %b)
  ret %r
})")
                  .to_module());
  Tensor first, second, view;
  {
    const Array both = Array::of(vm.call("halves"));
    first = Tensor::of(both[0]), second = Tensor::of(both[1]);
  }
  EXPECT_FALSE(first.is_unique());
  view = first.reshape({4, 8});
  first = Tensor();
  EXPECT_FALSE(view.is_unique()) << "the second tensor has the same memory";
  EXPECT_FALSE(second.is_unique());
  second = Tensor();
  EXPECT_TRUE(view.is_unique());
}

TEST(ATensorOfAProgram, MayHaveAnyNumberOfDimensions) {
  const Vm vm(Executable::assemble(".func main(s) {\n"
                                   "  %m = call vm.builtin.alloc_storage(%vm, shape(64), 0, dtype(uint8), \"global\")\n"
                                   "  %t = call vm.builtin.alloc_tensor(%m, 0, %s, dtype(float32))\n  ret %t\n}\n")
                  .to_module());
  for (int round = 0; round < 3; ++round)  // the VM uses tensors of few dimensions again
    for (size_t rank = 1; rank < 40; ++rank) {
      std::vector<int64_t> dims(rank, 1);
      dims[rank / 2] = 3;
      EXPECT_EQ(Tensor::of(vm.call("main", shape_of(dims))).shape(), dims);
    }
}

TEST(TheMemoryManager, GivesPooledMemoryBackWhenItIsCleared) {
  const auto pooled = [] {
    const opd_memory_stats stats = opdyno::memory_stats({kDLCPU, 0});
    return stats.reserved_bytes - stats.live_bytes;
  };
  { const Tensor gone({1000}, "float32"); }
  if (pooled() < 4000) GTEST_SKIP() << "this build pools no memory";
  Function::global("vm.builtin.memory_manager.clear")();
  EXPECT_LT(pooled(), 4000u);
}

TEST(ToDevice, ReturnsATensorOfThatDeviceUnchanged) {
  const Tensor x = floats({1, 2});
  const Function move = Function::global("vm.builtin.to_device");
  EXPECT_EQ(move(x, 1, 0).view().u.object, arg(x).u.object);
  const Value other = move(x, 1, 1);
  EXPECT_EQ(Tensor::of(other).view().device.device_id, 1);
  EXPECT_EQ(to_floats(other), (Floats{1, 2}));
  EXPECT_NE(Tensor::of(other).view().data, x.view().data);
  expect_throws([&] { move(x, 77, 0); }, OPD_UNSUPPORTED);
}
