// Programs whose tensors stay between compiled kernels: a VM makes them once and uses them again, which nobody may see.
#include "support/c_artifact.h"
#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

using Numbers = std::vector<float>;

// add1(in, out); twice(in, out); sum(a, b, c, out); keep(tensor) holds a reference, kept(out) reads it, forget() ends
// it.
const std::string kPlanKernels = kArtifactHead + R"(
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides;
                 uint64_t byte_offset; } Tensor;
extern int TVMFFIObjectIncRef(void *object);
extern int TVMFFIObjectDecRef(void *object);
static void *held;
static float *data_of(void *object) {
  Tensor *t = (Tensor *)((char *)object + 24);
  return (float *)((char *)t->data + t->byte_offset);
}
#define KERNEL(name) int __tvm_ffi_##name(void *self, const Any *args, int32_t n, Any *result)
#define DATA(i) data_of(args[i].u.p)
#define EACH for (int i = 0; i < 4; ++i)
KERNEL(add1) { float *x = DATA(0), *y = DATA(1); EACH y[i] = x[i] + 1; return 0; }
KERNEL(twice) { float *x = DATA(0), *y = DATA(1); EACH y[i] = 2 * x[i]; return 0; }
KERNEL(sum) { float *x = DATA(0), *y = DATA(1), *z = DATA(2), *o = DATA(3); EACH o[i] = x[i] + y[i] + z[i]; return 0; }
KERNEL(keep) { TVMFFIObjectIncRef(held = args[0].u.p); return 0; }
KERNEL(kept) { float *x = data_of(held), *y = DATA(0); EACH y[i] = x[i]; return 0; }
KERNEL(forget) { if (held) TVMFFIObjectDecRef(held); held = 0; return 0; }
KERNEL(texts) {  /* the kinds of two texts, and how long they are */
  float *o = DATA(2);
  for (int i = 0; i < 2; ++i) { o[2 * i] = args[i].type; for (const char *c = args[i].u.s; *c; ++c) ++o[2 * i + 1]; }
  return 0;
}
)";

void define_host_functions() {
  define("test.minus_one", [](const opd_value *args, int32_t, opd_value *out) { *out = opd_int(args[0].u.int64 - 1); });
  define("test.refuse", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no"); });
  define("test.zero", [](const opd_value *args, int32_t, opd_value *) { std::fill_n(elements(args[0]), 4, 0.0f); });
}

Vm plan_vm(const std::string &text, const opd_vm_options *options = nullptr) {
  static const Module kernels = Module::load(build_library("plan_kernels", kPlanKernels));
  define_host_functions();
  const Module program = Executable::assemble(text).to_module();
  check(opd_module_add_import(program.get(), kernels.get()));
  return Vm(program, options);
}

std::string storage(const std::string &name, int bytes = 16) {
  return name + " = call vm.builtin.alloc_storage(%vm, shape(" + std::to_string(bytes) +
         "), 0, dtype(uint8), \"global\")\n";
}
std::string tensor(const std::string &name, const std::string &in, int offset = 0) {
  return name + " = call vm.builtin.alloc_tensor(" + in + ", " + std::to_string(offset) +
         ", shape(4), dtype(float32))\n";
}
std::string kill(const std::string &name) { return name + " = call vm.builtin.null_value()\n"; }

// x + n through two storages, as TVM's memory planner lays them out; the result has a storage of its own.
std::string chain_of_adds(int n) {
  std::string text = ".func main(x) {\n" + storage("%a") + storage("%b") + storage("%c");
  std::string before = "%x";
  for (int i = 1; i < n; ++i) {
    const std::string now = "%t" + std::to_string(i);
    text += tensor(now, i % 2 ? "%a" : "%b") + "call add1(" + before + ", " + now + ")\n";
    if (i > 1) text += kill(before);
    before = now;
  }
  return text + kill("%a") + tensor("%r", "%c") + "call add1(" + before + ", %r)\nret %r\n}\n";
}

uint64_t live_bytes() {
  opd_memory_stats stats{};
  stats.struct_size = sizeof stats;
  check(opd_memory_get_stats({kDLCPU, 0}, &stats));
  return stats.live_bytes;
}

}  // namespace

TEST(VmPlan, RunsAgainAndAgainWithTheSameAnswers) {
  const Vm vm = plan_vm(chain_of_adds(9));
  std::vector<Value> results;
  for (int i = 0; i < 5; ++i) results.push_back(vm.call("main", floats({float(i), 0, 1, 2})));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(to_floats(results[static_cast<size_t>(i)]), (Numbers{float(i) + 9, 9, 10, 11}));
}

TEST(AnExecutable, OfAModuleKeepsTheKernelsThatTheModuleImports) {
  const std::string text = chain_of_adds(2);
  const Executable of_module = [&] {
    const Module program = Executable::assemble(text).to_module();
    check(opd_module_add_import(program.get(), Module::load(build_library("plan_kernels", kPlanKernels)).get()));
    return Executable::of(program);
  }();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(to_floats(Vm(of_module.to_module()).call("main", floats({1, 2, 3, 4}))), (Numbers{3, 4, 5, 6}));
  expect_throws([&] { Vm(Executable::assemble(text).to_module()); }, OPD_NOT_FOUND, "add1");
}

TEST(VmPlan, StoragesThatAreAliveTogetherShareNoMemory) {
  const Vm vm =
      plan_vm(".func main(x) {\n" + storage("%a") + tensor("%t", "%a") + "call add1(%x, %t)\n" + storage("%b") +
              tensor("%u", "%b") + "call twice(%x, %u)\n" + storage("%c") + tensor("%v", "%c") +
              "call twice(%u, %v)\n" + storage("%d") + tensor("%r", "%d") + "call sum(%t, %u, %v, %r)\n" + kill("%t") +
              kill("%u") + kill("%v") + kill("%a") + kill("%b") + kill("%c") + "ret %r\n}\n");
  for (int i = 0; i < 3; ++i)  // (x + 1) + 2x + 4x
    EXPECT_EQ(to_floats(vm.call("main", floats({1, 2, 3, 4}))), (Numbers{8, 15, 22, 29}));
}

TEST(VmPlan, KernelsReceiveEveryStringAsCText) {
  const Vm vm = plan_vm(".func main(x, text) {\n" + storage("%a") + tensor("%r", "%a") +
                        "call test.zero(%r)\ncall texts(%text, \"longer than seven\", %r)\nret %r\n}\n");
  for (const std::string text : {"", "seven 7", "eight 88"}) {  // up to seven letters lie in the value itself
    Value value;
    check(opd_string_create(text.data(), text.size(), value.out()));
    EXPECT_EQ(to_floats(vm.call("main", floats({1}), value)),
              (Numbers{OPD_CSTRING, float(text.size()), OPD_CSTRING, 17}));
  }
}

TEST(VmPlan, ATensorThatAKernelKeptIsNotWrittenAgain) {
  const Vm vm =
      plan_vm(".func main(x) {\n" + storage("%a") + tensor("%t", "%a") + "call add1(%x, %t)\ncall keep(%t)\n" +
              kill("%t") + kill("%a") +  // the same size again
              storage("%b") + tensor("%u", "%b") + "call twice(%x, %u)\n" + kill("%u") + storage("%c") +
              tensor("%r", "%c") + "call kept(%r)\nret %r\n}\n" + ".func kept_now() {\n" + storage("%c") +
              tensor("%r", "%c") + "call kept(%r)\nret %r\n}\n.func over(x) {\n" + storage("%a") + tensor("%t", "%a") +
              "call twice(%x, %t)\nret %void\n}\n.func end() {\ncall forget()\nret %void\n}\n");
  EXPECT_EQ(to_floats(vm.call("main", floats({1, 2, 3, 4}))), (Numbers{2, 3, 4, 5}));
  vm.call("over", floats({100, 100, 100, 100}));
  EXPECT_EQ(to_floats(vm.call("kept_now")), (Numbers{2, 3, 4, 5}));
  vm.call("end");
  EXPECT_EQ(to_floats(vm.call("main", floats({5, 6, 7, 8}))), (Numbers{6, 7, 8, 9}));
  vm.call("end");
}

TEST(VmPlan, AKeptTensorOutlivesItsVm) {
  {
    const Vm vm = plan_vm(".func main(x) {\n" + storage("%a") + tensor("%t", "%a") +
                          "call add1(%x, %t)\ncall keep(%t)\nret %void\n}\n");
    vm.call("main", floats({1, 2, 3, 4}));
  }
  const Vm reader =
      plan_vm(".func main() {\n" + storage("%c") + tensor("%r", "%c") + "call kept(%r)\ncall forget()\nret %r\n}\n");
  EXPECT_EQ(to_floats(reader.call("main")), (Numbers{2, 3, 4, 5}));
}

TEST(VmPlan, TwoTensorsOfOneStorageKeepTheirPlaces) {
  const Vm vm = plan_vm(".func main(x) {\n" + storage("%a", 144) + tensor("%p", "%a", 0) + tensor("%q", "%a", 64) +
                        tensor("%s", "%a", 128) + "call add1(%x, %p)\ncall twice(%p, %q)\ncall twice(%q, %s)\n" +
                        storage("%b") + tensor("%r", "%b") + "call sum(%p, %q, %s, %r)\nret %r\n}\n");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(to_floats(vm.call("main", floats({0, 1, 2, 3}))), (Numbers{7, 14, 21, 28}));  // 7 (x + 1)
}

TEST(VmPlan, BranchesAndLoopsSeeTheirOwnValues) {
  // A tensor made before the branch and used behind it; others live within a branch; a loop runs a block again.
  const Vm vm =
      plan_vm(".func main(x, c) {\n" + storage("%a") + tensor("%t", "%a") + "call add1(%x, %t)\nif %c else no\n" +
              storage("%b") + tensor("%u", "%b") + "call twice(%t, %u)\ncall twice(%u, %t)\n" + kill("%u") + "no:\n" +
              storage("%c2") + tensor("%r", "%c2") + "call add1(%t, %r)\nret %r\n}\n" + ".func loop(x, n) {\n" +
              storage("%acc") + tensor("%s", "%acc") + "call twice(%x, %s)\n" + "again:\n" + storage("%a") +
              tensor("%t", "%a") + "call add1(%s, %t)\n" + storage("%b") + tensor("%u", "%b") +
              "call add1(%t, %u)\ncall twice(%u, %s)\n" + kill("%t") + kill("%u") +
              "%n = call test.minus_one(%n)\nif %n else done\ngoto again\ndone:\nret %s\n}\n");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(to_floats(vm.call("main", floats({0, 1, 2, 3}), 0)), (Numbers{2, 3, 4, 5}));
    EXPECT_EQ(to_floats(vm.call("main", floats({0, 1, 2, 3}), 1)), (Numbers{5, 9, 13, 17}));  // 4 (x + 1) + 1
    // s -> 2 (s + 2), three times, from 2 x
    EXPECT_EQ(to_floats(vm.call("loop", floats({0, 1, 2, 3}), 3)), (Numbers{28, 44, 60, 76}));
  }
}

TEST(VmPlan, AKilledRegisterReadsAsNone) {
  const Vm vm = plan_vm(".func main(x) {\n" + storage("%a") + tensor("%t", "%a") + "call add1(%x, %t)\n" + kill("%t") +
                        "%n = call vm.builtin.copy(%t)\nret %n\n}\n.func other(x, c) {\n" + storage("%a") +
                        tensor("%t", "%a") + "call add1(%x, %t)\n" + kill("%t") +
                        "if %c else no\n%n = call vm.builtin.copy(%t)\nret %n\nno:\nret %t\n}\n");
  EXPECT_EQ(vm.call("main", floats({1, 2, 3, 4})).type(), OPD_NONE);
  EXPECT_EQ(vm.call("other", floats({1, 2, 3, 4}), 1).type(), OPD_NONE);
  EXPECT_EQ(vm.call("other", floats({1, 2, 3, 4}), 0).type(), OPD_NONE);
}

TEST(VmPlan, ATensorThatDoesNotFitIsRefusedWhereItIsMade) {
  const Vm vm =
      plan_vm(".func main(x) {\n" + storage("%a", 8) + tensor("%t", "%a") + "call add1(%x, %t)\nret %void\n}\n");
  expect_throws(
      [&] {
        vm.call("main", floats({1, 2, 3, 4}));
      },
      OPD_INVALID_ARGUMENT, "does not fit a storage of 8 bytes (called by main, instruction 1)");
}

TEST(VmPlan, AnOperatorsErrorNamesItsInstruction) {
  const Vm vm = plan_vm(".func main(x) {\n" + storage("%a") + tensor("%t", "%a") + "call add1(%x, %t)\n" + kill("%t") +
                        tensor("%u", "%a") + "call add1(%x, %u)\ncall test.refuse(%x)\nret %void\n}\n");
  expect_throws([&] { vm.call("main", floats({1, 2, 3, 4})); }, OPD_CALL_FAILED, "main, instruction 6");
}

TEST(VmPlan, ProfilesAndInstrumentsSeeTheProgramAsItIs) {
  const Vm vm = plan_vm(chain_of_adds(4));
  const Tensor x = floats({0, 0, 0, 0});
  const opd_value args[] = {arg(x)};
  Report report;
  check(opd_vm_profile(vm.get(), "main", args, 1, nullptr, nullptr, report.out(), nullptr));
  EXPECT_EQ(opd_report_call_count(report.get()), 4 + 2);  // and (dispatch), (profiler)
  std::vector<std::string> names;
  const Function see = make_function([&](const opd_value *call, int32_t, opd_value *) {
    if (call[2].u.int64) names.push_back(call[1].u.cstring);
  });
  check(opd_vm_set_instrument(vm.get(), see.get()));
  EXPECT_EQ(to_floats(vm.call("main", x)), (Numbers{4, 4, 4, 4}));
  check(opd_vm_set_instrument(vm.get(), nullptr));
  const auto count = [&](const char *name) { return std::count(names.begin(), names.end(), name); };
  EXPECT_EQ(count("add1"), 4);
  EXPECT_EQ(count("vm.builtin.alloc_tensor"), 4);
  EXPECT_EQ(count("vm.builtin.alloc_storage"), 3);
  EXPECT_EQ(count("vm.builtin.null_value"), 3);
}

TEST(VmPlan, TrimFreesTheMemoryOfIdleFrames) {
  const uint64_t before = live_bytes();
  const Vm vm = plan_vm(chain_of_adds(5));
  vm.call("main", floats({0, 0, 0, 0}));
  EXPECT_GT(live_bytes(), before);
  check(opd_vm_trim(vm.get()));
  EXPECT_EQ(live_bytes(), before);
  EXPECT_EQ(to_floats(vm.call("main", floats({0, 0, 0, 0}))), (Numbers{5, 5, 5, 5}));
}

TEST(VmPlan, KeepsTheStoragesOfTwoOfManyFunctions) {
  std::string text;
  constexpr int kFunctions = 200, kBytes = 1 << 20;
  for (int i = 0; i < kFunctions; ++i)
    text += ".func f" + std::to_string(i) + "(x) {\n" + storage("%a", kBytes + 4096 * i) + tensor("%t", "%a") +
            "call add1(%x, %t)\nret %void\n}\n";
  const Vm vm = plan_vm(text);
  const uint64_t before = live_bytes();
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < kFunctions; ++i) vm.call(("f" + std::to_string(i)).c_str(), floats({0, 0, 0, 0}));
  EXPECT_LE(live_bytes() - before, 2u * (kBytes + 4096 * kFunctions));
  // Two functions that are called in turn allocate nothing.
  const auto requests = [] { return opdyno::memory_stats({kDLCPU, 0}).alloc_count; };
  const Tensor x = floats({0, 0, 0, 0});
  uint64_t begin = 0;
  for (int round = 0; round < 4; ++round) {
    if (round == 1) begin = requests();
    for (const char *name : {"f198", "f199"}) vm.call(name, x);
  }
  EXPECT_EQ(requests(), begin);
}

TEST(VmPlan, FreesMemoryOfIdleFramesWhenMemoryIsShort) {
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.memory_limit_bytes = 1024;
  std::string text;
  for (const int bytes : {600, 700, 800})
    text += ".func f" + std::to_string(bytes) + "(x) {\n" + storage("%a", bytes) + tensor("%t", "%a") +
            "call add1(%x, %t)\nret %void\n}\n";
  const Vm vm = plan_vm(text, &options);
  for (int i = 0; i < 3; ++i)
    for (const char *name : {"f600", "f700", "f800"}) vm.call(name, floats({0, 0, 0, 0}));
}

// Each storage ends before the next one of its size is made.
TEST(VmPlan, StoragesOfOneSizeThatFollowEachOtherAreOne) {
  std::string text = ".func main(x) {\n";
  for (int i = 0; i < 4; ++i)
    for (const int bytes : {4096, 8192}) {
      const std::string n = std::to_string(i) + "_" + std::to_string(bytes);
      text += storage("%s" + n, bytes) + tensor("%t" + n, "%s" + n) + "call add1(%x, %t" + n + ")\n" + kill("%t" + n) +
              kill("%s" + n);
    }
  const Vm vm = plan_vm(text + "ret %void\n}\n");
  const uint64_t before = live_bytes();
  for (int i = 0; i < 2; ++i) {
    vm.call("main", floats({1, 2, 3, 4}));
    EXPECT_EQ(live_bytes() - before, 4096u + 8192u);
  }
}

TEST(VmPlan, FunctionsShareTheMemoryOfTheirFrame) {
  const auto function = [](const std::string &name) {
    return ".func " + name + "(x) {\n" + storage("%a", 4096) + tensor("%t", "%a") + "call add1(%x, %t)\n" +
           storage("%r", 64) + tensor("%o", "%r") + "call add1(%t, %o)\nret %o\n}\n";
  };
  const Vm vm = plan_vm(function("f") + function("g"));
  const uint64_t before = live_bytes();
  for (const char *name : {"f", "g", "f"}) {
    EXPECT_EQ(to_floats(vm.call(name, floats({1, 2, 3, 4}))), (Numbers{3, 4, 5, 6}));
    EXPECT_EQ(live_bytes() - before, 4096u) << "what the result took ended with it";
  }
}

// More tensors of one storage than are searched one after the other, some of one shape and place.
TEST(VmPlan, DistinguishesManyTensorsOfOneStorage) {
  constexpr int kCount = 24;
  std::string text = ".func main(x) {\n" + storage("%s", 64 * kCount);
  std::string last = "%x";
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < kCount; ++i) {
      const std::string now = "%t" + std::to_string(round) + "_" + std::to_string(i);
      text += tensor(now, "%s", 64 * i) + "call add1(" + last + ", " + now + ")\n";
      last = now;
    }
  text += storage("%q") + tensor("%r", "%q") + "call sum(%t1_0, %t1_" + std::to_string(kCount - 1) + ", %t1_9, %r)\n";
  const Vm vm = plan_vm(text + "ret %r\n}\n");
  for (int i = 0; i < 2; ++i)  // x + 25, x + 48 and x + 34
    EXPECT_EQ(to_floats(vm.call("main", floats({0, 1, 2, 3}))), (Numbers{107, 110, 113, 116}));
}
