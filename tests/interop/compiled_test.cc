// What listens to machine code: profiles, cancel tokens and many threads on programs that TVM built with
// exec_mode="compiled". That they give TVM's answers is replay_test.cc's.
#include <cstring>
#include <map>
#include <thread>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

constexpr const char *kReleases[] = {"0.25", "0.27"};  // before and after TVM changed how code finds functions

std::string path(const std::string &release, const std::string &mode = "compiled/") {
  return OPDYNO_INTEROP_DATA "/" + mode + release + "/mlp.so";
}

Tensor input() {
  Tensor x({2, 16}, "float32");
  for (int i = 0; i < 32; ++i) x.data<float>()[i] = static_cast<float>(i % 5) - 2;
  return x;
}

std::vector<float> answer(const Vm &vm) { return to_floats(vm.call("with_constants", input())); }

Report profile(const Vm &vm, int repeat) {
  opd_profile_options options;
  opd_profile_options_init(&options);
  options.repeat = repeat;
  const Tensor x = input();
  const opd_value argument = arg(x);
  Report report;
  check(opd_vm_profile(vm.get(), "with_constants", &argument, 1, nullptr, &options, report.out(), nullptr));
  return report;
}

// How often each kernel was recorded, and with which shapes.
std::map<std::string, int> kernels(const Report &report) {
  std::map<std::string, int> counts;
  for (size_t i = 0; i < opd_report_call_count(report.get()); ++i) {
    Value name, shapes;
    check(opd_report_get_call(report.get(), i, "Name", name.out()));
    check(opd_report_get_call(report.get(), i, "Argument Shapes", shapes.out()));
    const std::string text = name.to_string();
    const bool is_kernel = !text.starts_with("\"vm.builtin.") && !text.starts_with("\"(");
    if (is_kernel) ++counts[text + " " + shapes.to_string()];
  }
  return counts;
}

}  // namespace

TEST(Compiled, AProfileShowsTheKernelsThatBytecodeShows) {
  for (const char *release : kReleases) {
    const Vm compiled(Module::load(path(release))), bytecode(Module::load(path(release, "")));
    const auto before = answer(compiled);
    const auto seen = kernels(profile(compiled, 3));
    EXPECT_EQ(seen, kernels(profile(bytecode, 3))) << release;
    EXPECT_EQ(seen.size(), 2u) << release << ": two fused kernels";
    EXPECT_EQ(answer(compiled), before) << release;
    EXPECT_EQ(kernels(profile(compiled, 3)), seen) << release << ": a second time";
  }
}

TEST(Compiled, ACancelledCallEndsAndTheVmStaysUsable) {
  for (const char *release : kReleases) {
    const Vm vm(Module::load(path(release)));
    const auto before = answer(vm);
    Handle<opd_cancel> cancel;
    check(opd_cancel_create(cancel.out()));
    opd_cancel_cancel(cancel.get());
    opd_call_options options;
    opd_call_options_init(&options);
    options.cancel = cancel.get();
    const Tensor x = input();
    const opd_value argument = arg(x);
    Value result;
    expect_error(opd_vm_call(vm.get(), "with_constants", &argument, 1, &options, result.out()), OPD_CANCELLED,
                 "with_constants");
    opd_cancel_reset(cancel.get());
    check(opd_vm_call(vm.get(), "with_constants", &argument, 1, &options, result.out()));
    EXPECT_EQ(to_floats(result), before);
    EXPECT_EQ(answer(vm), before);
  }
}

TEST(Compiled, ThreadsCallWhileOthersProfile) {
  const Module module = Module::load(path("0.27"));
  const Vm vm(module);
  const auto expected = answer(vm);
  const auto shown = kernels(profile(vm, 2));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        if (t < 2) EXPECT_EQ(answer(vm), expected);
        else EXPECT_EQ(kernels(profile(vm, 2)), shown) << "only its own run's calls";
    });
  for (auto &thread : threads) thread.join();
}

TEST(Compiled, AnInstrumentSeesKernelsAndBuiltins) {
  const Vm vm(Module::load(path("0.27")));
  const auto expected = answer(vm);
  std::map<std::string, int> seen;
  const Function instrument =
      make_function([&](const opd_value *args, int32_t, opd_value *) { ++seen[args[1].u.cstring]; });
  check(opd_vm_set_instrument(vm.get(), instrument.get()));
  EXPECT_EQ(answer(vm), expected);
  check(opd_vm_set_instrument(vm.get(), nullptr));
  EXPECT_EQ(seen["fused_matmul_add_relu"], 2) << "before and after";
  EXPECT_EQ(seen["fused_matmul1_add1"], 2);
  EXPECT_GT(seen["vm.builtin.alloc_tensor"], 0);
  seen.clear();
  EXPECT_EQ(answer(vm), expected);
  EXPECT_TRUE(seen.empty());

  const Function refuses = make_function([](const opd_value *args, int32_t, opd_value *) {
    if (args[2].u.int64 == 0 && args[3].type == OPD_TENSOR) throw std::runtime_error("seen enough");  // owns a result
  });
  check(opd_vm_set_instrument(vm.get(), refuses.get()));
  expect_throws([&] { answer(vm); }, OPD_CALL_FAILED, "seen enough");
  check(opd_vm_set_instrument(vm.get(), nullptr));
  EXPECT_EQ(answer(vm), expected);
}

TEST(Compiled, ARegisterBeyondThoseThatTheExecutableStatesIsAnError) {
  const Module library = Module::load(path("0.27"));
  Executable executable;
  check(opd_executable_from_module(library.get(), executable.out()));
  std::string bytes = executable.save();
  // A function: name, first instruction, end, arguments, registers (docs/executable.md). Only the code knows the truth.
  const std::string name = "with_constants";
  const size_t registers = bytes.find(name) + name.size() + 3 * sizeof(int64_t);
  ASSERT_LT(registers, bytes.size());
  const int64_t two = 2;
  std::memcpy(&bytes[registers], &two, sizeof two);
  const Module module = Executable::load(bytes).to_module();
  Handle<opd_array> imports;
  check(opd_module_list_imports(library.get(), imports.out()));
  Value kernels;
  check(opd_array_get(imports.get(), 0, kernels.out()));
  check(opd_module_add_import(module.get(), reinterpret_cast<opd_module *>(kernels.view().u.object)));
  const Vm vm(module);
  expect_throws([&] { answer(vm); }, OPD_OUT_OF_RANGE, "was given item 2 of a list that has no such");
}

TEST(Compiled, AProgramWithoutItsLibraryIsRefusedByName) {
  Executable executable;
  check(opd_executable_from_module(Module::load(path("0.27")).get(), executable.out()));
  expect_throws([&] { Vm{executable.to_module()}; }, OPD_NOT_FOUND, "with_constants");
}
