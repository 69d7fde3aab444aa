// Calls of machine code that are looked at from outside: profiles, cancel tokens, deadlines and many threads, on
// programs that TVM built with exec_mode="compiled". replay_test.cc checks that such programs give TVM's answers.
#include <atomic>
#include <cstring>
#include <map>
#include <regex>
#include <thread>

#include "support/opdyno_test.h"
#include "support/paths.h"

using namespace opdyno_test;

namespace {

constexpr const char *kReleases[] = {"0.25", "0.27"};  // before and after TVM changed how code finds functions

std::string path(const std::string &release, const std::string &mode = "compiled/") {
  return interop_data("/") + mode + release + "/mlp.so";
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
  for (int32_t i = 0; i < opd_report_call_count(report.get()); ++i) {
    Value name, shapes;
    check(opd_report_get(report.get(), OPD_REPORT_CALLS, i, "Name", name.out(), nullptr));
    check(opd_report_get(report.get(), OPD_REPORT_CALLS, i, "Argument Shapes", shapes.out(), nullptr));
    const std::string text = name.to_string();
    const bool is_kernel = !text.starts_with("\"vm.builtin.") && !text.starts_with("\"(");
    if (is_kernel) ++counts[text + " " + shapes.to_string()];
  }
  return counts;
}

opd_call_options with_token(opd_cancel_token *cancel) {
  opd_call_options options;
  opd_call_options_init(&options);
  options.cancel = cancel;
  return options;
}

opd_error *call(const Vm &vm, const opd_call_options &options, Value &result) {
  const Tensor x = input();
  const opd_value argument = arg(x);
  return opd_vm_call(vm.get(), "with_constants", &argument, 1, &options, result.out());
}

// While it lives, `then` gets what each call of a builtin gives. Holds for code that is loaded meanwhile.
class WatchedBuiltin {
 public:
  WatchedBuiltin(const char *name, std::function<void(const opd_value &)> then) : name_(name) {
    check(opd_function_get_global(name, original_.out()));
    define(name, [original = original_, then = std::move(then)](const opd_value *args, int32_t count, opd_value *out) {
      check(opd_function_call(original.get(), args, count, out));
      then(*out);
    });
  }
  ~WatchedBuiltin() { check(opd_function_register(name_, original_.get(), 1)); }
  WatchedBuiltin(const WatchedBuiltin &) = delete;
  WatchedBuiltin &operator=(const WatchedBuiltin &) = delete;

 private:
  const char *const name_;
  Function original_;
};

}  // namespace

TEST(Compiled, AProfileShowsTheKernelsThatBytecodeShows) {
  for (const char *release : kReleases) {
    const Vm compiled(Module::load(path(release))), bytecode(Module::load(path(release, "")));
    const auto before = answer(compiled);
    const Report first = profile(compiled, 3);
    const auto seen = kernels(first);
    Value note;
    expect_error(opd_report_get(first.get(), OPD_REPORT_CONFIGURATION, 0, "Note", note.out(), nullptr),
                 OPD_NOT_FOUND);  // nothing is hidden
    EXPECT_EQ(seen, kernels(profile(bytecode, 3))) << release;
    EXPECT_EQ(seen.size(), 2u) << release << ": two fused kernels";
    EXPECT_EQ(answer(compiled), before) << release;
    EXPECT_EQ(kernels(profile(compiled, 3)), seen) << release << ": a second time";
  }
}

// The memory of a VM's storages is handed out once, so a warm VM shows little but versions.
TEST(Compiled, ARecordingOfMemoryHasEachTensorThatIsMadeInAStorage) {
  const auto count = [](const std::string &text, const std::string &pattern) {
    const std::regex each(pattern);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), each), {});
  };
  for (const char *release : kReleases)
    for (const char *mode : {"compiled/", ""}) {
      const Vm vm(Module::load(path(release, mode)));
      const Tensor x = input();
      vm.call("with_constants", x);
      auto options = opdyno::defaults(opd_profiler_options_init);
      options.profile_memory = options.all_calls = 1;
      const opdyno::Profiler profiler(&options);
      profiler.start();
      for (int i = 0; i < 3; ++i) vm.call("with_constants", x);
      const opdyno::Trace trace = profiler.stop();
      const std::string steps = trace.write(OPD_TRACE_MEMORY_TIMELINE_RAW);
      const auto tensors = count(trace.chrome(), R"re("name":"vm.builtin.alloc_tensor")re");
      EXPECT_EQ(tensors, 3 * 2) << release << " " << mode;
      EXPECT_EQ(count(steps, R"(,2,\d+,4\])") + count(steps, R"(,3,\d+,4\])"), tensors) << release << mode << steps;
      EXPECT_GE(count(steps, R"(,3,\d+,4\])"), 2) << release << mode << steps;
      vm.call("with_constants", x);  // the next call is not recorded
      profiler.start();
      const std::string idle = profiler.stop().write(OPD_TRACE_MEMORY_TIMELINE_RAW);
      EXPECT_EQ(count(idle, R"(,3,-?\d+,\d\])"), 0) << idle;
    }
}

TEST(Compiled, ACancelledCallEndsAndTheVmStaysUsable) {
  for (const char *release : kReleases) {
    const Vm vm(Module::load(path(release)));
    const auto before = answer(vm);
    Handle<opd_cancel_token> cancel;
    check(opd_cancel_token_create(cancel.out()));
    opd_cancel_token_cancel(cancel.get());
    opd_call_options options;
    opd_call_options_init(&options);
    options.cancel = cancel.get();
    const Tensor x = input();
    const opd_value argument = arg(x);
    Value result;
    expect_error(opd_vm_call(vm.get(), "with_constants", &argument, 1, &options, result.out()), OPD_CANCELLED,
                 "with_constants");
    opd_cancel_token_reset(cancel.get());
    check(opd_vm_call(vm.get(), "with_constants", &argument, 1, &options, result.out()));
    EXPECT_EQ(to_floats(result), before);
    EXPECT_EQ(answer(vm), before);
  }
}

TEST(Compiled, CallsAreNotObservedUntilTheRunningOperatorIsRequested) {
  for (const char *release : kReleases) {
    Handle<opd_cancel_token> cancel;
    check(opd_cancel_token_create(cancel.out()));
    std::vector<std::string> running;
    const WatchedBuiltin asks("vm.builtin.alloc_tensor", [&](const opd_value &) {
      const char *name = opd_cancel_token_current_operator(cancel.get());
      running.emplace_back(name ? name : "nothing");
    });
    const Vm vm(Module::load(path(release)));
    const std::vector<std::string> expected = {"with_constants", "vm.builtin.alloc_tensor"};
    for (int i = 0; i < 3; ++i) {
      running.clear();
      Value result;
      check(call(vm, with_token(cancel.get()), result));
      ASSERT_EQ(running.size(), 2u) << release;
      EXPECT_EQ(running, expected) << release << ", call " << i << ": the first to ask, and the next";
    }
  }
}

TEST(Compiled, CancellingACallStopsItBeforeTheNextKernel) {
  for (const char *release : kReleases) {
    Handle<opd_cancel_token> cancel;
    check(opd_cancel_token_create(cancel.out()));
    bool fires = true;
    std::vector<Value> made;
    const WatchedBuiltin counts("vm.builtin.alloc_tensor", [&](const opd_value &result) {
      made.push_back(Value::retain(result));
      Tensor::of(made.back()).data<float>()[0] = -1;
      if (fires) opd_cancel_token_cancel(cancel.get());
    });
    const Vm vm(Module::load(path(release)));
    Value result;
    expect_error(call(vm, with_token(cancel.get()), result), OPD_CANCELLED, "with_constants");
    ASSERT_EQ(made.size(), 1u) << release;
    EXPECT_EQ(Tensor::of(made[0]).data<float>()[0], -1) << release << ": the kernel, a relu, writes nothing below 0";
    made.clear();
    fires = false;
    opd_cancel_token_reset(cancel.get());
    check(call(vm, with_token(cancel.get()), result));
    EXPECT_EQ(to_floats(result), answer(vm)) << release;
  }
}

TEST(Compiled, CancelledAndLateCallsDoNotAffectOthers) {
  const Vm vm(Module::load(path("0.27")));
  const auto expected = answer(vm);
  Handle<opd_cancel_token> cancel;
  check(opd_cancel_token_create(cancel.out()));
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) {
      opd_cancel_token_cancel(cancel.get());
      std::this_thread::yield();
      opd_cancel_token_reset(cancel.get());
      opd_cancel_token_current_operator(cancel.get());
    }
  });
  const auto run = [&](int kind) {
    for (int i = 0; i < 200; ++i) {
      opd_call_options options = with_token(kind == 0 ? cancel.get() : nullptr);
      if (kind == 1) options.timeout_ns = 1 + i * 500;
      Value result;
      if (opd_error *error = call(vm, options, result)) {
        const Error e(error);
        EXPECT_EQ(e.code(), kind == 0 ? OPD_CANCELLED : OPD_DEADLINE_EXCEEDED) << e.what();
        EXPECT_NE(kind, 2) << "a call without token and deadline";
      } else {
        EXPECT_EQ(to_floats(result), expected);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(run, t);
  for (auto &thread : threads) thread.join();
  done = true;
  canceller.join();
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

TEST(Compiled, ANestedCallKeepsTheRegistersOfTheOuter) {
  const Vm other(Module::load(path("0.27"))), bytecode(Module::load(path("0.27", "")));
  const auto expected = answer(other);
  const Vm *outer = nullptr;
  int depth = 0, calls = 0;
  const WatchedBuiltin watched("vm.builtin.alloc_tensor", [&](const opd_value &) {
    if (depth++ == 0) {
      for (const Vm *vm : {&other, &bytecode, outer}) EXPECT_EQ(answer(*vm), expected);
      expect_throws([&] { other.call("with_constants", Tensor({3}, "float32")); }, OPD_INVALID_ARGUMENT, "");
      ++calls;
    }
    --depth;
  });
  const Vm vm(Module::load(path("0.27")));
  outer = &vm;
  EXPECT_EQ(answer(vm), expected);
  EXPECT_GT(calls, 0);
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

TEST(Compiled, AProgramIsRefusedWithTheNameOfAMissingBuiltin) {
  Function builtin;
  check(opd_function_get_global("vm.builtin.alloc_tensor", builtin.out()));
  check(opd_function_remove_global("vm.builtin.alloc_tensor"));
  for (const char *mode : {"", "compiled/"})
    for (const char *release : kReleases)
      expect_throws([&] { Vm(Module::load(path(release, mode))); }, OPD_NOT_FOUND, "vm.builtin.alloc_tensor");
  check(opd_function_register("vm.builtin.alloc_tensor", builtin.get(), 1));
  for (const char *release : kReleases) answer(Vm(Module::load(path(release))));
}

TEST(Compiled, AProgramWithoutItsLibraryIsRefusedByName) {
  const Executable alone = Executable::load(Executable::of(Module::load(path("0.27"))).save());
  expect_throws([&] { Vm{alone.to_module()}; }, OPD_NOT_FOUND, "with_constants");
}
