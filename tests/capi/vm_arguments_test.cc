// What calls of a VM take and give: counts, kinds, strides, names, supplied outputs.
#include "support/add_one.h"

using namespace opdyno_test;

TEST(VmArguments, AWrongCountNamesTheFunctionAndItsParameters) {
  const Vm vm = make_vm(kAddOne);
  expect_throws([&] { vm.call("main"); }, OPD_INVALID_ARGUMENT, "main(x) takes 1 argument, but was given 0");
}

TEST(VmArguments, AWrongKindDtypeRankOrSizeIsTheProgramsError) {
  const Vm vm = make_vm(kAddOne);
  expect_throws([&] { vm.call("main", 3); }, OPD_INVALID_ARGUMENT, "expected a tensor, but got int");
  expect_throws([&] { vm.call("main", Tensor({4}, "int32")); }, OPD_INVALID_ARGUMENT,
                "expected a tensor of dtype float32, but got int32[4] on cpu:0");
  expect_throws([&] { vm.call("main", Tensor({2, 2}, "float32")); }, OPD_INVALID_ARGUMENT, "rank 1");
  expect_throws([&] { vm.call("main", Tensor({5}, "float32")); }, OPD_INVALID_ARGUMENT,
                "expected dimension 0 to be 4, but it is 5");
}

TEST(VmArguments, ADltensorViewIsCopied) {
  const Vm vm = make_vm(".func main(x) {\n  ret %x\n}");
  Value kept;
  {
    alignas(64) float data[4] = {1, 2, 3, 4};
    int64_t shape[] = {4};
    DLTensor view{data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
    kept = vm.call("main", opd_dltensor(&view));
    data[0] = 99;
  }
  EXPECT_EQ(to_floats(kept), (std::vector<float>{1, 2, 3, 4}));
}

TEST(VmArguments, ADltensorViewWithoutAShapeIsRefusedEverywhere) {
  const Vm vm = make_vm(".func main(x) {\n  ret %x\n}");
  alignas(64) float data[4] = {};
  int64_t shape[] = {4};
  for (const DLTensor &view : {DLTensor{data, {kDLCPU, 0}, -1, {kDLFloat, 32, 1}, shape, nullptr, 0},
                               DLTensor{data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, nullptr, nullptr, 0}}) {
    const opd_value x = opd_dltensor(const_cast<DLTensor *>(&view));
    expect_throws([&] { vm.call("main", x); }, OPD_INVALID_ARGUMENT, "must have a shape");
    expect_error(opd_vm_set_input(vm.get(), "main", &x, 1, nullptr), OPD_INVALID_ARGUMENT, "must have a shape");
    for (const char *name : {"relax.run.nonzero", "vm.builtin.shape_of", "vm.builtin.read_if_cond"})
      expect_throws([&] { Function::global(name)(x); }, OPD_INVALID_ARGUMENT, "must have a shape");
    EXPECT_EQ(to_string(x), "a DLTensor without a shape");
  }
}

TEST(VmArguments, ADltensorViewMayBeStridedAndMisalignedAndIsNotWritten) {
  define("test.overwrite", [](const opd_value *args, int32_t, opd_value *) { elements(args[0])[0] = -1; });
  const Vm vm = make_vm(".func main(x) {\n  call test.overwrite(%x)\n  ret %x\n}");
  alignas(64) float data[6] = {0, 1, 0, 2, 0, 3};
  int64_t shape[] = {3}, strides[] = {2};
  DLTensor view{data + 1, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  EXPECT_EQ(to_floats(vm.call("main", opd_dltensor(&view))), (std::vector<float>{-1, 2, 3}));
  EXPECT_EQ(data[1], 1);
}

TEST(VmArguments, ATensorFromDlpackIsTakenAsItIs) {
  const Vm vm = make_vm(".func main(x) {\n  ret %x\n}");
  alignas(64) static float data[4] = {1, 2, 3, 4};
  static int64_t shape[] = {4};
  auto *managed = new DLManagedTensor{
      {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0}, nullptr, [](DLManagedTensor *m) { delete m; }};
  Tensor tensor;
  check(opd_tensor_from_dlpack(managed, tensor.out()));
  const Value result = vm.call("main", tensor);
  EXPECT_EQ(Tensor::of(result).view().data, data);
}

TEST(VmArguments, StridesAndByteOffsetsAreHandedOn) {
  alignas(64) static float data[16] = {};
  static int64_t shape[] = {4}, strides[] = {2};
  auto *managed = new DLManagedTensor{{data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 2 * sizeof(float)},
                                      nullptr,
                                      [](DLManagedTensor *m) { delete m; }};
  Tensor tensor;
  check(opd_tensor_from_dlpack(managed, tensor.out()));
  DLTensor seen{};
  int64_t step = 0;
  define("test.sees", [&](const opd_value *args, int32_t, opd_value *) {
    seen = Tensor::of(Value::retain(args[0])).view();
    step = seen.strides[0];
  });
  make_vm(".func main(x) {\n  %r = call test.sees(%x)\n  ret %r\n}").call("main", tensor);
  EXPECT_EQ(seen.data, data);
  EXPECT_EQ(seen.byte_offset, 2 * sizeof(float));
  EXPECT_EQ(step, 2);
}

TEST(VmArguments, MisalignedAndForeignTensorsAreRefused) {
  const Vm vm = make_vm(kAddOne);
  alignas(64) static float data[16] = {};
  static int64_t shape[] = {4};
  const auto given = [&](void *start, DLDevice device) {
    auto *managed = new DLManagedTensor{
        {start, device, 1, {kDLFloat, 32, 1}, shape, nullptr, 0}, nullptr, [](DLManagedTensor *m) { delete m; }};
    Tensor tensor;
    check(opd_tensor_from_dlpack(managed, tensor.out()));
    return tensor;
  };
  expect_throws(
      [&] {
        vm.call("main", given(data + 1, {kDLCPU, 0}));
      },
      OPD_INVALID_ARGUMENT, "starts 4 bytes after a multiple of");
  expect_throws(
      [&] {
        vm.call("main", given(data, {kDLCUDA, 1}));
      },
      OPD_INVALID_ARGUMENT, "must lie on cpu:0, but is float32[4] on cuda:1");
}

TEST(VmArguments, NamesAreMatchedToParameters) {
  const Vm vm = make_vm(".func main(first, second) {\n  %r = call vm.builtin.make_tuple(%first, %second)\n  ret %r\n}");
  const char *names[] = {"second", nullptr};
  const opd_value args[] = {opd_int(2), opd_int(1)};
  opd_call_options options;
  opd_call_options_init(&options);
  options.names = names;
  Value result;
  check(opd_vm_call(vm.get(), "main", args, 2, &options, result.out()));
  EXPECT_EQ(result.to_string(), "[1, 2]");
  names[0] = "secnd";
  expect_error(opd_vm_call(vm.get(), "main", args, 2, &options, result.out()), OPD_INVALID_ARGUMENT,
               "no parameter \"secnd\". Did you mean second?");
  names[0] = "first";
  expect_error(opd_vm_call(vm.get(), "main", args, 2, &options, result.out()), OPD_INVALID_ARGUMENT,
               "parameter first of main is given twice");
}

TEST(VmArguments, OutputsAreWrittenAllOrNone) {
  const Vm vm = make_vm(".func pair(x) {\n  %p = call vm.builtin.make_tuple(%x, %x)\n  ret %p\n}");
  const Tensor x = floats({1, 2, 3, 4}), first = floats({0, 0, 0, 0}), second = floats({0, 0, 0});
  opd_tensor *outputs[] = {first.get(), second.get()};
  opd_call_options options;
  opd_call_options_init(&options);
  options.outputs = outputs;
  const opd_value args[] = {arg(x)};
  for (const int32_t count : {1, 2}) {
    options.num_outputs = count;
    expect_error(opd_vm_call(vm.get(), "pair", args, 1, &options, nullptr), OPD_INVALID_ARGUMENT);
    EXPECT_EQ(to_floats(arg(first)), (std::vector<float>{0, 0, 0, 0}));
  }
}

TEST(VmArguments, OutputsCanBeSupplied) {
  const Vm vm = make_vm(kAddOne);
  Tensor out({4}, "float32");
  opd_tensor *outputs[] = {out.get()};
  opd_call_options options;
  opd_call_options_init(&options);
  options.outputs = outputs;
  options.num_outputs = 1;
  const Tensor x = floats({1, 2, 3, 4});
  const opd_value args[] = {arg(x)};
  check(opd_vm_call(vm.get(), "main", args, 1, &options, nullptr));
  EXPECT_EQ(to_floats(arg(out)), (std::vector<float>{2, 3, 4, 5}));
  options.timeout_ns = -1;
  expect_error(opd_vm_call(vm.get(), "main", args, 1, &options, nullptr), OPD_INVALID_ARGUMENT,
               "timeout_ns must not be negative");
  options.timeout_ns = 0;
  Tensor small({3}, "float32");
  outputs[0] = small.get();
  expect_error(opd_vm_call(vm.get(), "main", args, 1, &options, nullptr), OPD_INVALID_ARGUMENT);
}
