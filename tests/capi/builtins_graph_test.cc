// vm.builtin.cuda_graph.* on devices without graphs: memory is kept, and functions are called.
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

// Counts its calls, and gives their number.
void define_counter(int &calls) {
  calls = 0;
  define("test.count", [&](const opd_value *, int32_t, opd_value *out) { *out = opd_int(++calls); });
}

const std::string kHead = R"(
.func once() {
  %n = call test.count()
  %r = call vm.builtin.make_tuple(%n)
  ret %r
}
.func sum(a, b) {
  call test.count()
  %r = call vm.builtin.make_tuple(%b, %a)
  ret %r
}
)";

}  // namespace

TEST(CachedAllocation, IsMadeOnceForEachVmAndIndex) {
  int calls;
  define_counter(calls);
  const std::string text = kHead + R"(
.func main(i) {
  %r = call vm.builtin.cuda_graph.get_cached_alloc(%vm, @once, %i)
  ret %r
}
)";
  const Vm first = vm_of(text), second = vm_of(text);
  EXPECT_EQ(first.call("main", 0).to_string(), "[1]");
  EXPECT_EQ(first.call("main", 0).to_string(), "[1]");
  EXPECT_EQ(first.call("main", 7).to_string(), "[2]");
  EXPECT_EQ(second.call("main", 0).to_string(), "[3]");
  EXPECT_EQ(first.call("main", 0).to_string(), "[1]");
  EXPECT_EQ(calls, 3);
}

TEST(CachedAllocation, CountsAsMemoryOfTheIdleVm) {
  const auto idle_bytes = [] { return opdyno::memory_stats({kDLCPU, 0}).idle_bytes; };
  const Vm vm = vm_of(R"(
.func memory() {
  %s = call vm.builtin.alloc_storage(%vm, shape(4096), 0, dtype(uint8), "global")
  %r = call vm.builtin.make_tuple(%s)
  ret %r
}
.func main() {
  call vm.builtin.cuda_graph.get_cached_alloc(%vm, @memory, 0)
  ret %void
}
)");
  const uint64_t before = idle_bytes();
  vm.call("main");
  EXPECT_EQ(idle_bytes(), before + 4096);
}

TEST(RunOrCapture, CallsTheFunctionEachTimeWithoutGraphs) {
  int calls;
  define_counter(calls);
  const Vm vm = vm_of(kHead + R"(
.func main(a, b) {
  %args = call vm.builtin.make_tuple(%a, %b)
  %r = call vm.builtin.cuda_graph.run_or_capture(%vm, @sum, %args, 0)
  %r = call vm.builtin.cuda_graph.run_or_capture(%vm, @sum, %args, 0, shape(4))
  ret %r
}
)");
  EXPECT_EQ(vm.call("main", 1, 2).to_string(), "[2, 1]");
  EXPECT_EQ(vm.call("main", 3, 4).to_string(), "[4, 3]");
  EXPECT_EQ(calls, 4);
}

TEST(RunOrCapture, NamesInvalidArguments) {
  const auto refused = [](const std::string &args, const std::string &part) {
    const Vm vm = vm_of(kHead + ".func main(x) {\n  %r = call vm.builtin.cuda_graph." + args + "\n  ret %r\n}\n");
    expect_throws([&] { vm.call("main", 1); }, OPD_INVALID_ARGUMENT, part);
  };
  refused("run_or_capture(%vm, @sum, %x, 0)", "vm.builtin.cuda_graph.run_or_capture: arguments must be");
  refused("run_or_capture(%vm, %x, %x, 0)", "arguments must be");
  refused("run_or_capture(%vm, @sum)", "(vm, function, arguments, index [, shape])");
  refused("run_or_capture(%x, @sum, %x, 0)", "the first argument must be the VM");
  refused("get_cached_alloc(%vm, %x, 0)", "vm.builtin.cuda_graph.get_cached_alloc: function must be");
  refused("get_cached_alloc(%vm, @once, @once)", "index must be");
  refused("get_cached_alloc(%vm, @once)", "(vm, function, index)");
}

TEST(RunOrCapture, LeavesErrorsOfTheFunctionAsTheyAre) {
  define("test.fails", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("not today"); });
  const Vm vm = vm_of(
      ".func body() {\n  call test.fails()\n  ret %void\n}\n.func main() {\n"
      "  %args = call vm.builtin.make_tuple()\n"
      "  %r = call vm.builtin.cuda_graph.run_or_capture(%vm, @body, %args, 0)\n  ret %r\n}\n");
  expect_throws([&] { vm.call("main"); }, OPD_CALL_FAILED, "test.fails: not today (called by body");
}

TEST(CachedAllocation, MayHoldValuesOtherThanStorages) {
  const auto idle_bytes = [] { return opdyno::memory_stats({kDLCPU, 0}).idle_bytes; };
  const Vm vm = vm_of(R"(
.func memory() {
  %s = call vm.builtin.alloc_storage(%vm, shape(4096), 0, dtype(uint8), "global")
  %z = call vm.builtin.alloc_storage(%vm, shape(128), 0, dtype(uint8), "global")
  %inner = call vm.builtin.make_tuple(7, %z, "text")
  %r = call vm.builtin.make_tuple(%s, %inner, %void)
  ret %r
}
.func main() {
  %r = call vm.builtin.cuda_graph.get_cached_alloc(%vm, @memory, 0)
  %i = call vm.builtin.tuple_getitem(%r, 1)
  %n = call vm.builtin.tuple_getitem(%i, 0)
  ret %n
}
)");
  const uint64_t before = idle_bytes();
  EXPECT_EQ(vm.call("main").view().u.int64, 7);
  EXPECT_EQ(idle_bytes(), before + 4096 + 128);
}

TEST(CachedAllocation, HoldsNoFunction) {
  const Vm vm = vm_of(R"(
.func body() {
  %inner = call vm.builtin.make_tuple(1, @body)
  %r = call vm.builtin.make_tuple(%inner, 2)
  ret %r
}
.func main() {
  %r = call vm.builtin.cuda_graph.get_cached_alloc(%vm, @body, 0)
  ret %r
}
)");
  for (int round = 0; round < 2; ++round)
    expect_throws(
        [&] { vm.call("main"); }, OPD_INVALID_ARGUMENT,
        "vm.builtin.cuda_graph.get_cached_alloc: the function's result is kept, so there must be no function in "
        "it");
}
