// Calls that are cancelled while a kernel runs parallel regions, in both execution modes.
#include <atomic>
#include <chrono>
#include <thread>

#include "support/c_artifact.h"
#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

struct Probe {  // what the kernel and the test share
  void (*between)(void *);
  void *user_data;
  int32_t first, second;  // tasks of the two regions that ran
};

const std::string kParallelKernels = kArtifactHead + R"(
typedef struct { void *sync; int32_t num_task; } Group;
typedef int (*Task)(int, Group *, void *);
SLOT(int, TVMBackendParallelLaunch, Task, void *, int)
typedef struct { void (*between)(void *); void *user_data; int32_t first, second; } Probe;
static int first(int id, Group *group, void *data) {
  Probe *probe = data;
  __atomic_add_fetch(&probe->first, 1, __ATOMIC_SEQ_CST);
  if (id == 0) probe->between(probe->user_data);
  return 0;
}
static int second(int id, Group *group, void *data) {
  __atomic_add_fetch(&((Probe *)data)->second, 1, __ATOMIC_SEQ_CST);
  return 0;
}
int __tvm_ffi_two_regions(void *self, const Any *args, int32_t num_args, Any *ret) {
  if (__TVMBackendParallelLaunch(first, args[0].u.p, 0)) return -1;
  return __TVMBackendParallelLaunch(second, args[0].u.p, 0);
}
int __tvm_ffi_regions_until_ended(void *self, const Any *args, int32_t num_args, Any *ret) {
  for (int i = 0; i < 10000; ++i) /* each takes a millisecond */
    if (__TVMBackendParallelLaunch(first, args[0].u.p, 0)) return -1;
  return 0;
}
/* What TVM makes of `main(p) { two_regions(p); return None }` with exec_mode="compiled". */
int __tvm_ffi___vmtir__main(void *self, const Any *args, int32_t num_args, Any *ret) {
  Any *registers = args[1].u.p, ignored = {0};
  return __tvm_ffi_two_regions(0, registers, 1, &ignored);
}
)";

Vm vm_of(const Executable &executable) {
  static const Module kernels = Module::load(build_library("two_regions", kParallelKernels));
  Module module;
  check(opd_executable_to_module(executable.get(), module.out()));
  check(opd_module_add_import(module.get(), kernels.get()));
  Vm vm;
  check(opd_vm_create(module.get(), nullptr, vm.out()));
  return vm;
}

Vm bytecode() { return vm_of(Executable::assemble(".func main(p) {\n  call two_regions(%p)\n  ret %void\n}\n")); }

// One function of kind 2 (compiled) with one parameter; no constants, no instructions: docs/executable.md.
Vm compiled_regions() {
  std::string bytes;
  const auto put = [&](auto number) { bytes.append(reinterpret_cast<const char *>(&number), sizeof number); };
  const auto text = [&](const std::string &s) { put(uint64_t{s.size()}), bytes += s; };
  put(uint64_t{0xD225DE2F4214151E}), text("0.14"), put(uint64_t{1});
  put(int32_t{2}), text("main"), put(int64_t{0}), put(int64_t{0}), put(int64_t{1}), put(int64_t{2}), put(uint64_t{1}),
      text("p");
  for (int section = 0; section < 4; ++section) put(uint64_t{0});
  return vm_of(Executable::load(bytes));
}

class AParallelKernel : public testing::TestWithParam<Vm (*)()> {};

TEST_P(AParallelKernel, IsEndedBetweenItsRegions) {
  const Vm vm = GetParam()();
  Handle<opd_cancel_token> cancel;
  check(opd_cancel_token_create(cancel.out()));
  opd_call_options options;
  opd_call_options_init(&options);
  options.cancel = cancel.get();
  check(opd_threads_set_count(3));
  for (int round = 0; round < 20; ++round) {
    Probe probe{[](void *token) { opd_cancel_token_cancel(static_cast<opd_cancel_token *>(token)); }, cancel.get(), 0,
                0};
    opd_value argument = opd_pointer(&probe);
    Value result;
    expect_error(opd_vm_call(vm.get(), "main", &argument, 1, &options, result.out()), OPD_CANCELLED, "parallel region");
    EXPECT_GE(probe.first, 1);
    EXPECT_EQ(probe.second, 0);

    opd_cancel_token_reset(cancel.get());  // the VM, the token and the threads are usable
    probe = {[](void *) {}, nullptr, 0, 0};
    check(opd_vm_call(vm.get(), "main", &argument, 1, &options, result.out()));
    EXPECT_GE(probe.first, 1);
    EXPECT_GE(probe.second, 1);
  }
  check(opd_threads_set_count(0));
}

// Of a call with a deadline and no token. The kernel returns by itself after ten seconds, without an error. A slow
// machine may reach the deadline before the first region.
TEST(AKernelOfManyRegions, IsEndedByTheDeadlineOfItsCall) {
  const Vm vm = vm_of(Executable::assemble(".func main(p) {\n  call regions_until_ended(%p)\n  ret %void\n}\n"));
  opd_call_options options;
  opd_call_options_init(&options);
  options.timeout_ns = 20'000'000;
  Probe probe{[](void *) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }, nullptr, 0, 0};
  opd_value argument = opd_pointer(&probe);
  Value result;
  expect_error(opd_vm_call(vm.get(), "main", &argument, 1, &options, result.out()), OPD_DEADLINE_EXCEEDED,
               "parallel region");
}

TEST_P(AParallelKernel, GoesOnIfItsCallHasNoToken) {
  const Vm vm = GetParam()();
  Handle<opd_cancel_token> cancel;
  check(opd_cancel_token_create(cancel.out()));
  Probe probe{[](void *token) { opd_cancel_token_cancel(static_cast<opd_cancel_token *>(token)); }, cancel.get(), 0, 0};
  opd_value argument = opd_pointer(&probe);
  Value result;
  check(opd_vm_call(vm.get(), "main", &argument, 1, nullptr, result.out()));
  EXPECT_GE(probe.second, 1);
}

INSTANTIATE_TEST_SUITE_P(Modes, AParallelKernel, testing::Values(&bytecode, &compiled_regions),
                         [](const auto &info) { return info.index ? "compiled" : "bytecode"; });

}  // namespace
