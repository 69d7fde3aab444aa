// Functions of the host in recordings: their results are played back.
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>

#include "support/recorded_calls.h"
#include "support/simulated_device.h"

using namespace opdyno_test;

namespace {

const std::string kAsk = R"(
.func main(x) {
  %a = call test.ask(%x, 1)
  %b = call test.ask(%x, 2)
  ret %b
})";

// Numbers that no other process would give: a count of the calls.
int asked = 0;
void define_ask() {
  define("test.ask", [](const opd_value *args, int32_t, opd_value *out) {
    if (args[1].u.int64 > 99) throw std::runtime_error("the host will not say");
    *out = opd_int(100 * ++asked + args[1].u.int64);
  });
}
void forget(const char *name) { Function::remove_global(name); }

// "%t": a new tensor of four floats.
const std::string kNewTensor =
    "  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), \"global\")\n"
    "  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))\n";
std::string main_of(const std::string &params, const std::string &body) {
  return ".func main(" + params + ") {\n" + body + "}\n";
}

// In place.
void define_double() {
  define("test.double", [](const opd_value *args, int32_t, opd_value *) {
    for (int i = 0; i < 4; ++i) elements(args[0])[i] *= 2;
  });
}

void copy_into(const opd_value &to, const std::vector<float> &numbers) { Tensor::of(to).copy_from(floats(numbers)); }

// A replay in which the functions would fail if they were called.
opdyno::Replayed replay_without(const std::vector<const char *> &names, const std::string &path,
                                const opd_replay_options *options = nullptr) {
  for (const char *name : names) forget(name);
  return opdyno::replay(path, options);
}

}  // namespace

TEST(HostFunctions, TheirResultsArePlayedBackInOrder) {
  define_ask();
  const Vm vm = make_vm(kAsk);
  asked = 0;
  const auto path = record(vm, {arg(floats({1, 2}))});
  EXPECT_EQ(asked, 2);
  forget("test.ask");  // a process that has no such function
  const auto replayed = opdyno::replay(path, nullptr, true);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(verdict(replayed), "the call returned what was recorded: 1 value is equal bit for bit");
  EXPECT_EQ(cell(replayed.report, 1, "Kind"), "host function");
  EXPECT_EQ(cell(replayed.report, 3, "Value"), "202");
  EXPECT_TRUE(replayed.profile);  // each of its runs plays them again
}

TEST(HostFunctions, TheirWritesToArgumentsArePlayedBack) {
  const Vm vm = make_vm(kAddOne);
  const Tensor x = floats({1, 2, 3, 4});
  record(vm, {arg(x)});  // leaves the right numbers in the memory that the next such call gets
  const auto path = recording_path(".kept");
  write_bytes(path, bytes_of(record(vm, {arg(x)})));
  record(vm, {arg(floats({5, 6, 7, 8}))});  // leaves others for the replay
  define("test.add_one", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("called"); });
  const auto replayed = opdyno::replay(path);
  define_add_one();
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
}

TEST(HostFunctions, TheirErrorsHappenAgain) {
  define_ask();
  const Vm vm = make_vm(".func main(n) {\n  %a = call test.ask(%n, 1)\n  %b = call test.ask(%n, %n)\n  ret %b\n}\n");
  const auto path = record(vm, {opd_int(100)});
  const auto replayed = opdyno::replay(path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
  EXPECT_NE(verdict(replayed).find("the host will not say"), std::string::npos) << verdict(replayed);
  const std::string small = recording_path(".small");
  auto options = opdyno::defaults(opd_replay_options_init);
  options.minimise = small.c_str();
  expect_throws([&] { opdyno::replay(path, &options); }, OPD_FAILED_PRECONDITION,
                "main fails in test.ask, a function of the host");
}

TEST(HostFunctions, OtherArgumentsOrCallsAreNamed) {
  define_ask();
  const auto replay_on = [](const std::string &path, const std::string &program) {
    const Module module = Executable::assemble(program).to_module();
    auto options = opdyno::defaults(opd_replay_options_init);
    options.module = module.get();
    return opdyno::replay(path, &options);
  };
  const auto path = record(make_vm(kAsk), {arg(floats({1, 2}))});
  const auto other =
      replay_on(path, ".func main(x) {\n  %a = call test.ask(%x, 7)\n  %b = call test.ask(%x, 2)\n  ret %b\n}\n");
  EXPECT_NE(verdict(other).find("test.ask, call 1 of a function of the host, gets another argument 1"),
            std::string::npos)
      << verdict(other);
  const auto fewer = replay_on(path, ".func main(x) {\n  %a = call test.ask(%x, 1)\n  ret %a\n}\n");
  EXPECT_NE(verdict(fewer).find("1 call of functions of the host did not happen, of test.ask first"),
            std::string::npos);
  const auto more = replay_on(path,
                              ".func main(x) {\n  %a = call test.ask(%x, 1)\n  %b = call test.ask(%x, 2)\n  "
                              "%c = call test.ask(%x, 3)\n  ret %c\n}\n");
  EXPECT_FALSE(is_same(more));
  EXPECT_NE(verdict(more).find("test.ask, call 3 of a function of the host, was not recorded"), std::string::npos);
}

TEST(HostFunctions, AnotherOrderAndOtherNumbersOfArgumentsAreNamed) {
  for (const char *name : {"test.first", "test.second"})
    define(name, [](const opd_value *, int32_t, opd_value *out) { *out = opd_int(7); });
  const auto calls = [](const std::string &one, const std::string &other) {
    return main_of("x", "  call test." + one + "\n  %r = call test." + other + "\n  ret %r\n");
  };
  const auto path = record(make_vm(calls("first(%x)", "second(%x, 2)")), {opd_int(1)});
  const auto verdict_of = [&](const std::string &program) {
    const Module other = Executable::assemble(program).to_module();
    auto options = opdyno::defaults(opd_replay_options_init);
    options.module = other.get();
    const auto replayed = opdyno::replay(path, &options);
    return (is_same(replayed) ? "same: " : "other: ") + verdict(replayed);
  };
  const std::string equal = "same: the call returned what was recorded: 1 value is equal bit for bit; ";
  const std::string call = " of a function of the host, ";
  EXPECT_EQ(verdict_of(calls("first(%x)", "second(%x)")),
            equal + "test.second, call 2" + call + "gets 1 argument instead of 2");
  EXPECT_EQ(verdict_of(calls("first(%x, %x)", "second(%x, 2)")),
            equal + "test.first, call 1" + call + "gets 2 arguments instead of 1");
  EXPECT_EQ(verdict_of(calls("first(%x, %x)", "second(%x)")),
            equal + "test.first, call 1" + call + "gets 2 arguments instead of 1")
      << "the first problem is told";
  const std::string swapped = verdict_of(calls("second(%x, 2)", "first(%x)"));
  EXPECT_TRUE(swapped.starts_with("other: the call failed: ")) << swapped;
  EXPECT_NE(swapped.find("test.second, call 1" + call + "takes the place of test.first"), std::string::npos) << swapped;
  EXPECT_EQ(
      verdict_of(main_of("x", "  ret %x\n")),
      "other: the call returned something else than was recorded: out is 1, and was 7; 2 calls of functions of the "
      "host did not happen, of test.first first");
}

TEST(HostFunctions, FunctionsThatThePythonBuiltinFindsAreOnesOfTheHost) {
  const auto add = Function::global("vm.builtin.register_py_func");
  static int called;
  called = 0;
  const auto five = make_function([](const opd_value *, int32_t, opd_value *out) { *out = opd_int(5 + called++); });
  add("test.five", five);
  const Vm vm = make_vm(
      ".func main(x) {\n  %t = call vm.builtin.make_tuple(%x)\n  %p = call vm.builtin.make_tuple(\"test.five\", %t)\n"
      "  %r = call vm.builtin.call_py_func(%p)\n  ret %r\n}\n");
  const auto path = record(vm, {opd_int(1)});
  EXPECT_TRUE(is_same(opdyno::replay(path)));
  EXPECT_EQ(called, 1);
}

TEST(HostFunctions, TheirOwnCallsAreNotRecorded) {
  const Vm inner = make_vm(kAddOne);
  define("test.outer", [&inner](const opd_value *args, int32_t, opd_value *out) {
    give(inner.call("main", Tensor::of(args[0])).view(), out);
  });
  const Vm vm = make_vm(".func main(x) {\n  %a = call test.outer(%x)\n  ret %a\n}\n");
  const auto path = record(vm, {arg(floats({1, 2, 3, 4}))});
  forget("test.outer");
  const auto replayed = opdyno::replay(path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
  EXPECT_EQ(replayed.report.count(), 3U);  // argument, one call, result
}

TEST(HostFunctions, TheirWritesToATupleArePlayedBack) {
  define("test.fill_pair", [](const opd_value *args, int32_t, opd_value *) {
    copy_into(Array::of(args[0])[1].view(), {5, 6, 7, 8});
  });
  const Vm vm = make_vm(main_of("x", kNewTensor + "  %p = call vm.builtin.make_tuple(%x, %t)\n"
                                                  "  %q = call vm.builtin.make_tuple(%p, %p)\n"
                                                  "  %h = call test.fill_pair(%p)\n  ret %t\n"));
  const Tensor x = floats({1, 2, 3, 4});
  const auto path = record(vm, {arg(x)});
  record(vm, {arg(x)});
  const auto replayed = replay_without({"test.fill_pair"}, path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
}

TEST(HostFunctions, TheirWritesToDeviceMemoryArePlayedBack) {
  const DLDevice device = SimulatedDevice::get().device();
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &device, options.num_devices = 1;
  static Tensor known;
  define("test.keep", [](const opd_value *args, int32_t, opd_value *) { known = Tensor::of(args[0]); });
  define("test.fill_known", [](const opd_value *, int32_t, opd_value *) { copy_into(arg(known), {5, 6, 7, 8}); });
  define("test.fill", [](const opd_value *args, int32_t, opd_value *) { copy_into(args[0], {5, 6, 7, 8}); });
  const Vm vm = make_vm(main_of("", kNewTensor +  // the right numbers lie there before the last function writes them
                                        "  %k = call test.keep(%t)\n  %l = call test.fill_known()\n"
                                        "  %u = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))\n"
                                        "  %h = call test.fill(%u)\n  ret %u\n"),
                        &options);
  const auto path = record(vm, {});
  known = Tensor();
  const float written[] = {5, 6, 7, 8};  // noticed, though they were there before
  EXPECT_NE(bytes_of(path).find({reinterpret_cast<const char *>(written), sizeof written}), std::string::npos);
  const auto replayed = replay_without({"test.keep", "test.fill_known", "test.fill"}, path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
}

TEST(HostFunctions, AnArgumentThatTheyReturnStaysTheSameTensor) {
  define_double();
  define("test.second",
         [](const opd_value *args, int32_t, opd_value *out) { give(Array::of(args[0])[1].view(), out); });
  const Vm vm =
      make_vm(main_of("x", kNewTensor + "  call test.add_one(%x, %t)\n  %p = call vm.builtin.make_tuple(%x, %t)\n"
                                        "  %r = call test.second(%p)\n  call test.double(%r)\n  ret %t\n"));
  const auto path = record(vm, {arg(floats({1, 2, 3, 4}))});
  const auto replayed = replay_without({"test.second", "test.add_one", "test.double"}, path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
}

TEST(HostFunctions, ATensorThatTheyReturnAgainStaysTheSameTensor) {
  const Tensor x = floats({1, 2, 3, 4}), buffer = floats({0, 0, 0, 0});
  define("test.buffer", [&buffer](const opd_value *, int32_t, opd_value *out) { give(arg(buffer), out); });
  define("test.argument", [&x](const opd_value *, int32_t, opd_value *out) { give(arg(x), out); });
  const Vm vm = make_vm(main_of("x",
                                "  %a = call test.buffer()\n  %b = call test.buffer()\n"
                                "  call test.add_one(%x, %a)\n  %y = call test.argument()\n"
                                "  call test.add_one(%b, %y)\n  ret %x\n"));
  const auto path = record(vm, {arg(x)});
  EXPECT_EQ(to_floats(arg(x)), (std::vector<float>{3, 4, 5, 6}));
  const auto replayed = replay_without({"test.buffer", "test.argument", "test.add_one"}, path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
}

TEST(HostFunctions, ATensorInReusedMemoryIsAnotherTensor) {
  define_double();
  define("test.fresh", [](const opd_value *, int32_t, opd_value *out) {  // all at one address
    alignas(64) static float memory[4];
    static int64_t dims[] = {4};
    std::iota(memory, memory + 4, 1.F);
    DLTensor view{};
    view.data = memory, view.ndim = 1, view.shape = dims, view.device = {kDLCPU, 0}, view.dtype = {kDLFloat, 32, 1};
    give(arg(Tensor::borrow(view)), out);
  });
  std::string body;
  for (int i = 0; i < 8; ++i)
    body += "  %a = call test.fresh()\n  call test.double(%a)\n  %a = call vm.builtin.null_value()\n";
  const Vm vm = make_vm(main_of("", body + "  %a = call test.fresh()\n  %b = call test.fresh()\n"
                                           "  %r = call vm.builtin.make_tuple(%a, %b)\n  ret %r\n"));
  const auto path = record(vm, {});
  const auto replayed = replay_without({"test.fresh", "test.double"}, path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
}

TEST(HostFunctions, AnotherArgumentIsNamedAlsoIfTheyWriteIt) {
  define_double();
  const auto program = [](const std::string &from) {
    return main_of("x, y", "  call test.add_one(" + from + ", %y)\n  call test.double(%y)\n  ret %y\n");
  };
  const auto path = record(make_vm(program("%x")), {arg(floats({1, 2, 3, 4})), arg(floats({0, 0, 0, 0}))});
  const Module other = Executable::assemble(program("%y")).to_module();
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = other.get();
  const auto replayed = opdyno::replay(path, &options);
  EXPECT_NE(verdict(replayed).find("gets another argument 0"), std::string::npos) << verdict(replayed);
  options.module = nullptr;
  EXPECT_EQ(verdict(opdyno::replay(path, &options)),
            "the call returned what was recorded: 1 value is equal bit for bit");
}

TEST(HostFunctions, AModuleThatIsGivenStaysAsItWas) {
  define_ask();
  const Module program = Executable::assemble(kAsk).to_module();
  const auto path = record(Vm(program), {arg(floats({1, 2}))});
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = program.get();
  EXPECT_TRUE(is_same(opdyno::replay(path, &options)));
  EXPECT_EQ(program.imports().size(), 0U);
  asked = 6;
  EXPECT_EQ(Vm(program).call("main", floats({1, 2})).view().u.int64, 802);  // asks the process again
}

TEST(HostFunctions, AChildThatTheyForkLeavesTheFileToItsParent) {
  static pid_t child;
  child = 0;
  define("test.fork", [](const opd_value *, int32_t, opd_value *out) {
    child = fork();
    *out = opd_int(5);
  });
  const Vm vm = make_vm(main_of("x", "  %r = call test.fork()\n  %s = call test.ask(%x, 1)\n  ret %r\n"));
  define_ask();
  const auto path = recording_path();
  vm.record_next_call(path);
  vm.call("main", floats({1, 2, 3, 4}));
  if (child == 0) _exit(0);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  vm.end_recording();
  const auto replayed = replay_without({"test.fork"}, path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
  EXPECT_EQ(entry(replayed.report, "Recorded"), "returned");
}

TEST(HostFunctions, AreGivenValuesOfAnotherDeviceThanWasRecorded) {
  define("test.pick", [](const opd_value *args, int32_t, opd_value *out) { give(args[1], out); });
  const Vm vm = make_vm_on_two(main_of("x, y", kNewTensor + "  call test.pick(%t, %t)\n  %a = call test.pick(%x, %y)\n"
                                                            "  %b = call test.pick(%y, %x)\n"
                                                            "  %r = call vm.builtin.make_tuple(%a, %b)\n  ret %r\n"));
  const Tensor there({2}, "float32", {kDLCPU, 1});  // which others are moved to
  there.copy_from(floats({5, 6}));
  const auto path = record(vm, {arg(floats({1, 2})), arg(there)});
  auto options = opdyno::defaults(opd_replay_options_init);
  options.device = {kDLCPU, 1};
  const auto replayed = replay_without({"test.pick"}, path, &options);
  EXPECT_EQ(verdict(replayed), "the call returned what was recorded: 2 values are equal bit for bit");
  const size_t last = replayed.report.count() - 1;
  EXPECT_EQ(cell(replayed.report, last, "Value"), "float32[2] on cpu:1");
  EXPECT_EQ(cell(replayed.report, last, "Recorded Value"), "float32[2] on cpu:0");
}
