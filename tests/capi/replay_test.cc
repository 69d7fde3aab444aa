// include/opdyno/replay.h: calls that are recorded and made again.
#include <opdyno/replay.h>

#include <atomic>
#include <thread>

#include "support/recorded_calls.h"

using namespace opdyno_test;

namespace {

// y[i] = 2 * x[i] as a kernel of a library; `mend` is compiled into it.
std::string kernel_source(const std::string &factor) {
  return R"(
#include <stdint.h>
#include <string.h>
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint32_t dtype; int64_t *shape, *strides; uint64_t offset; } Tensor;
typedef struct { int32_t type; uint32_t zero; void *object; } Value;
static float *elements(const Value *v) { return ((Tensor *)((char *)v->object + 24))->data; }
int __tvm_ffi_twice(void *self, const Value *args, int32_t num_args, Value *result) {
  for (int i = 0; i < 4; ++i) elements(&args[1])[i] = elements(&args[0])[i] * )" +
         factor + R"(;
  return 0;
}
int __tvm_ffi_again(void *self, const Value *args, int32_t num_args, Value *result) {
  for (int i = 0; i < 4; ++i) elements(&args[1])[i] = elements(&args[0])[i] + 1;
  return 0;
}
)";
}

std::string call_of(const std::string &kernel, const std::string &from, const std::string &to) {
  return "  %s" + to + " = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), \"global\")\n  %" + to +
         " = call vm.builtin.alloc_tensor(%s" + to + ", 0, shape(4), dtype(float32))\n  call " + kernel + "(%" + from +
         ", %" + to + ")\n";
}
const std::string kTwice =
    ".func main(x) {\n" + call_of("twice", "x", "a") + call_of("again", "a", "b") + "  ret %b\n}\n";

Module twice(const std::string &factor = "2") {
  const Module program = Executable::assemble(kTwice).to_module();
  Module kernels;
  check(load_source(kernel_source(factor), nullptr, kernels.out()));
  program.add_import(kernels);
  return program;
}

opd_record_options with(int32_t opd_record_options::*field) {
  auto options = opdyno::defaults(opd_record_options_init);
  options.*field = 1;
  return options;
}

}  // namespace

TEST(Replay, ACallOfACompiledKernelReturnsTheRecordedResult) {
  const Vm vm(twice());
  const Tensor x = floats({1, 2, 3, 4});
  const auto path = record(vm, {arg(x)});
  std::fill_n(x.data<float>(), 4, 0.F);  // the file has its own
  const auto replayed = opdyno::replay(path, nullptr, true);
  EXPECT_EQ(verdict(replayed), "the call returned what was recorded: 1 value is equal bit for bit");
  EXPECT_TRUE(is_same(replayed));
  ASSERT_EQ(replayed.report.count(), 2U);
  EXPECT_EQ(cell(replayed.report, 0, "Value"), "float32[4] on cpu:0");
  EXPECT_EQ(cell(replayed.report, 1, "State"), "equal");
  EXPECT_EQ(entry(replayed.report, "Recorded"), "returned");
  EXPECT_GT(replayed.profile.count(), 2U);
  const Vm loaded(replayed.module);  // the program came along
  EXPECT_EQ(to_floats(loaded.call("main", floats({1, 2, 3, 4}))), (std::vector<float>{3, 5, 7, 9}));
}

TEST(Replay, AnotherProgramIsDetectedByItsResult) {
  const auto path = record(Vm(twice()), {arg(floats({1, 2, 3, 4}))});
  const Module other = twice("3");
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = other.get();
  const auto replayed = opdyno::replay(path, &options);
  EXPECT_EQ(verdict(replayed),
            "the call returned something else than was recorded: out, float32[4] on cpu:0, has another hash");
  EXPECT_FALSE(is_same(replayed));
  EXPECT_NE(entry(replayed.report, "Note").find("the program is another one than was recorded"), std::string::npos);
}

TEST(Replay, KeptElementsShowHowFarResultsDiffer) {
  const auto outputs = with(&opd_record_options::with_outputs);
  const auto path = record(Vm(twice()), {arg(floats({1, 2, 3, 4}))}, &outputs);
  const Module other = twice("2.5f");
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = other.get();
  const auto replayed = opdyno::replay(path, &options);  // 2.5 * 4 + 1 = 11 instead of 9
  EXPECT_NE(verdict(replayed).find("differs at 4 of 4 elements: max abs 2 (tolerance "), std::string::npos)
      << verdict(replayed);
  options.atol = "2";
  const auto near = opdyno::replay(path, &options);
  EXPECT_TRUE(is_same(near));
  EXPECT_EQ(verdict(near),
            "the call returned what was recorded: 1 value agrees within the tolerance, 0 are equal bit for bit");
}

TEST(Replay, TheFirstOperatorThatDiffersIsNamedAndKeptAlone) {
  const auto operators = with(&opd_record_options::with_operators);
  const auto path = record(Vm(twice()), {arg(floats({1, 2, 3, 4}))}, &operators);
  const Module other = twice("3");
  const std::string small = recording_path(".small");
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = other.get();
  options.minimise = small.c_str();
  const auto replayed = opdyno::replay(path, &options);
  EXPECT_NE(verdict(replayed).find("; the first operator that differs is twice, number 1 of the call"),
            std::string::npos);
  EXPECT_EQ(entry(replayed.report, "Minimised"), "twice");
  const auto alone = opdyno::replay(small);  // on the other program, whose kernel is in it
  EXPECT_FALSE(is_same(alone));
  EXPECT_NE(verdict(alone).find("the first operator that differs is twice"), std::string::npos) << verdict(alone);
  options.minimise = nullptr;
  const Module right = twice();
  options.module = right.get();
  EXPECT_TRUE(is_same(opdyno::replay(path, &options)));
}

TEST(Replay, MinimisingAnEqualCallIsAnErrorWithoutAFile) {
  const auto path = record(Vm(twice()), {arg(floats({1, 2, 3, 4}))});
  const std::string small = recording_path(".small");
  auto options = opdyno::defaults(opd_replay_options_init);
  options.minimise = small.c_str();
  expect_throws([&] { opdyno::replay(path, &options); }, OPD_FAILED_PRECONDITION, "nothing can be minimised");
  EXPECT_EQ(bytes_of(small), "");
  options.run = 0;
  expect_throws([&] { opdyno::replay(path, &options); }, OPD_INVALID_ARGUMENT, "minimise needs the call to run");
}

TEST(Replay, HashesOfAProgramNeedTheProgram) {
  auto options = opdyno::defaults(opd_record_options_init);
  options.with_program = 0;
  const Module program = twice();
  const auto path = record(Vm(program), {arg(floats({1, 2, 3, 4}))}, &options);
  EXPECT_LT(bytes_of(path).size(), 2000U);
  expect_throws([&] { opdyno::replay(path); }, OPD_FAILED_PRECONDITION, "has only hashes of its program");
  auto how = opdyno::defaults(opd_replay_options_init);
  how.run = 0;
  const auto read = opdyno::replay(path, &how);
  EXPECT_FALSE(read.module);
  how = opdyno::defaults(opd_replay_options_init);
  how.module = program.get();
  const auto replayed = opdyno::replay(path, &how);
  EXPECT_TRUE(is_same(replayed));
  EXPECT_EQ(entry(replayed.report, "Note").find("another"), std::string::npos);
}

TEST(Replay, AnErrorHappensAgain) {
  const Vm vm(twice());
  const auto path = record(vm, {arg(Tensor({2}, "float32"))});  // alloc is fine: no check of x
  EXPECT_EQ(entry(opdyno::replay(path).report, "Recorded"), "returned");
  const Vm checked = make_vm(kAddOne);
  const auto failing = record(checked, {arg(Tensor({2}, "float32"))});
  const auto replayed = opdyno::replay(failing);
  EXPECT_TRUE(is_same(replayed));
  EXPECT_NE(verdict(replayed).find("the call failed as it did when it was recorded: "), std::string::npos);
  const auto missing = record(checked, {});  // an error before the program runs
  EXPECT_NE(verdict(opdyno::replay(missing)).find("failed as it did when it was recorded: "), std::string::npos);
}

TEST(Replay, TheOperatorThatFailsIsKeptAlone) {
  const Vm vm = make_vm(kAddOne);
  const auto path = record(vm, {arg(Tensor({2}, "float32"))});
  const std::string small = recording_path(".small");
  auto options = opdyno::defaults(opd_replay_options_init);
  options.minimise = small.c_str();
  const auto replayed = opdyno::replay(path, &options);
  EXPECT_EQ(entry(replayed.report, "Minimised"), "vm.builtin.match_shape");
  const auto alone = opdyno::replay(small);
  EXPECT_TRUE(is_same(alone)) << verdict(alone);
  EXPECT_NE(verdict(alone).find("the call failed as it did when it was recorded: vm.builtin.match_shape"),
            std::string::npos);
}

TEST(Replay, AnErrorOutsideOfOperatorsIsNoneToMinimise) {
  const auto path = record(Vm(twice()), {arg(floats({1, 2, 3, 4}))});
  const Module other = Executable::assemble(".func first(x) {\n  ret %x\n}\n").to_module();
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = other.get();
  EXPECT_EQ(verdict(opdyno::replay(path, &options)),
            "the call failed: the program has no function \"main\". It has: first; when it was recorded, it returned");
  const std::string small = recording_path(".small");
  options.minimise = small.c_str();
  expect_throws([&] { opdyno::replay(path, &options); }, OPD_FAILED_PRECONDITION,
                "nothing can be minimised: main fails, but not within an operator: the program has no function");
}

TEST(Replay, ACancelledCallSaysThatItWas) {
  const Vm vm(twice());
  const CancelToken token = CancelToken::create();
  token.cancel();
  auto call = opdyno::defaults(opd_call_options_init);
  call.cancel = token.get();
  const std::string path = recording_path();
  vm.record_next_call(path);
  const Tensor x = floats({1, 2, 3, 4});
  expect_throws([&] { vm.call_with(call, "main", {arg(x)}); }, OPD_CANCELLED);
  vm.end_recording();
  const auto replayed = opdyno::replay(path);
  EXPECT_FALSE(is_same(replayed));
  EXPECT_NE(verdict(replayed).find("the call returned; when it was recorded, it failed: "), std::string::npos);
  auto options = opdyno::defaults(opd_replay_options_init);
  options.cancel = token.get();
  EXPECT_TRUE(is_same(opdyno::replay(path, &options)));  // cancelled as it was
  const auto good = record(vm, {arg(x)});
  expect_throws([&] { opdyno::replay(good, &options); }, OPD_CANCELLED);
}

TEST(Replay, RestoresArgumentNamesAndVmOptions) {
  opd_vm_options how = opdyno::defaults(opd_vm_options_init);
  how.memory_limit_bytes = 20;  // for one of the two storages
  const Vm vm(twice(), &how);
  const char *const names[] = {"x"};
  auto call = opdyno::defaults(opd_call_options_init);
  call.names = names;
  const std::string path = recording_path();
  vm.record_next_call(path);
  const Tensor x = floats({1, 2, 3, 4});
  expect_throws([&] { vm.call_with(call, "main", {arg(x)}); }, OPD_OUT_OF_MEMORY);
  vm.end_recording();
  const auto replayed = opdyno::replay(path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
  EXPECT_EQ(cell(replayed.report, 0, "Name"), "x");
}

TEST(Replay, AFunctionOfTheProgramIsFoundByItsName) {
  const std::string program = R"(
.func addend(x) {
  %y = call vm.builtin.make_tuple(%x, 5)
  ret %y
}
.func get() {
  %functions = call vm.builtin.make_tuple(@addend)
  %f = call vm.builtin.tuple_getitem(%functions, 0)
  ret %f
}
.func main(f, x) {
  %y = call vm.builtin.invoke_closure(%vm, %f, %x)
  ret %y
}
)";
  const Vm vm = make_vm(program);
  const Value function = vm.call("get");
  const Tensor x = floats({1, 2});
  const auto path = record(vm, {function.view(), arg(x)});
  const auto replayed = opdyno::replay(path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
  EXPECT_EQ(cell(replayed.report, 0, "Value"), "function addend");
  const Module other = Executable::assemble(".func main(f, x) {\n  ret %x\n}\n").to_module();
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = other.get();
  expect_throws([&] { opdyno::replay(path, &options); }, OPD_NOT_FOUND,
                "argument 0 of main: the program has no function addend");
}

TEST(Replay, TheInstrumentOfAReplaySeesItsCalls) {
  const auto path = record(Vm(twice()), {arg(floats({1, 2, 3, 4}))});
  int shown = 0;
  const auto instrument = Function::of(
      [&shown](const opd_value *values, int32_t) { shown += string_of(values[1]) == "again" && values[2].u.int64; });
  auto options = opdyno::defaults(opd_replay_options_init);
  options.instrument = instrument.get();
  EXPECT_TRUE(is_same(opdyno::replay(path, &options)));
  EXPECT_EQ(shown, 1);
}

TEST(Replay, RecordingLeavesTheInstrumentOfTheVm) {
  const Vm vm = make_vm(kAddOne);
  int shown = 0;
  vm.set_instrument(Function::of([&shown](const opd_value *, int32_t) { ++shown; }));
  const Tensor x = floats({1, 2, 3, 4});
  vm.call("main", x);
  const int once = std::exchange(shown, 0);
  record(vm, {arg(x)});
  EXPECT_EQ(shown, once);
  vm.call("main", x);
  EXPECT_EQ(shown, 2 * once);
  vm.set_instrument(Function());
}

TEST(Replay, AnotherDeviceTakesThePlaceOfTheRecordedOne) {
  auto keeping = opdyno::defaults(opd_record_options_init);
  keeping.with_operators = keeping.with_outputs = 1;
  const auto path = record(Vm(twice()), {arg(floats({1, 2, 3, 4}))}, &keeping);
  std::vector<DLDevice> seen;  // of the operators' tensors
  const Function watch = Function::of([&](const opd_value *args, int32_t num_args) {
    for (int32_t i = 4; i < num_args; ++i)
      if (args[i].type == OPD_TENSOR) seen.push_back(Tensor::of(args[i]).view().device);
    return Value();
  });
  auto options = opdyno::defaults(opd_replay_options_init);
  options.device = {kDLCPU, 1};
  options.instrument = watch.get();
  const auto replayed = opdyno::replay(path, &options, true);
  EXPECT_EQ(verdict(replayed), "the call returned what was recorded: 1 value is equal bit for bit");
  EXPECT_TRUE(is_same(replayed));
  EXPECT_EQ(cell(replayed.report, 0, "Value"), "float32[4] on cpu:0");
  EXPECT_EQ(cell(replayed.report, 1, "Value"), "float32[4] on cpu:1");
  EXPECT_EQ(cell(replayed.report, 1, "Recorded Value"), "float32[4] on cpu:0");
  EXPECT_NE(entry(replayed.report, "Note").find("recorded on cpu:0, made on cpu:1 again"), std::string::npos);
  EXPECT_FALSE(seen.empty());
  for (const DLDevice device : seen) EXPECT_EQ(device.device_id, 1);
  EXPECT_GT(replayed.profile.count(), 2U);

  const Module other = twice("3");
  options.module = other.get();
  const auto differs = opdyno::replay(path, &options);
  EXPECT_NE(verdict(differs).find("out, float32[4] on cpu:1, differs at 4 of 4 elements: max abs 4 "),
            std::string::npos)
      << verdict(differs);  // 3 * 4 + 1 = 13 instead of 9
  EXPECT_NE(verdict(differs).find("the first operator that differs is twice, number 1 "), std::string::npos);
  const std::string small = recording_path(".small");
  options.minimise = small.c_str();
  expect_throws([&] { opdyno::replay(path, &options); }, OPD_FAILED_PRECONDITION, "nothing can be minimised");
  EXPECT_EQ(bytes_of(small), "");
  options.minimise = nullptr;
  for (const DLDevice absent : {DLDevice{kDLCPU, 1000}, DLDevice{kDLWebGPU, 0}}) {
    options.device = absent;
    expect_throws([&] { opdyno::replay(path, &options); }, OPD_UNSUPPORTED,
                  "there is no device " + opdyno::to_string(absent));
  }
}

TEST(Replay, AnotherDeviceHasTheValuesThatWereOnTheFirst) {
  const Vm vm =
      make_vm_on_two(".func main(a, b, c, d) {\n  %r = call vm.builtin.make_tuple(%a, %b, %c, %d)\n  ret %r\n}\n");
  const Tensor there({2}, "float32", {kDLCPU, 1});
  there.copy_from(floats({5, 6}));
  int64_t dims[] = {2}, strides[] = {2};
  const Tensor memory = floats({1, 2, 3});
  DLManagedTensor strided{
      {memory.data<float>(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, dims, strides, 0}, nullptr, nullptr};
  Tensor second;
  check(opd_tensor_from_dlpack(&strided, second.out()));
  const auto path = record(vm, {arg(floats({1, 2})), arg(there), opd_device_value({kDLCPU, 0}), arg(second)});
  auto options = opdyno::defaults(opd_replay_options_init);
  options.device = {kDLCPU, 1};
  const auto replayed = opdyno::replay(path, &options);
  ASSERT_EQ(replayed.report.count(), 8U) << verdict(replayed);
  const char *const expected[] = {"float32[2] on cpu:1", "float32[2] on cpu:1", "cpu:1", "float32[2] on cpu:1"};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(cell(replayed.report, 4 + i, "Value"), expected[i]) << i;
  for (const size_t i : {4U, 5U, 7U}) EXPECT_EQ(cell(replayed.report, i, "State"), "equal") << i;
}
