// Profiles: of one call, and of everything that an application calls.
#include <atomic>
#include <cmath>
#include <map>
#include <thread>

#include "support/report_test.h"

using namespace opdyno_test;

namespace {

// Two kernels with a tensor, calls without any, and a function that calls another.
const char *const kProfiled = R"(
.func main(x) {
  %heap = call vm.builtin.make_shape(%void, 1, 0, 4)
  call test.profile.kernel(%x)
  call test.profile.plain(1)
  %r = call inner(%x)
  ret %r
}
.func inner(x) {
  call test.profile.kernel(%x)
  ret %x
})";

Vm program() {
  define("test.profile.kernel", [](const opd_value *, int32_t, opd_value *) {});
  define("test.profile.plain", [](const opd_value *, int32_t, opd_value *) {});
  return Vm(Executable::assemble(kProfiled).to_module());
}

std::string text(const Report &report, size_t row, const char *column) {
  return call_value(report, row, column).to_string();
}
double number(const Report &report, size_t row, const char *column) {
  return number_of(call_value(report, row, column));
}
std::string names(const Report &report) {
  std::string all;
  for (int32_t i = 0; i < opd_report_call_count(report.get()); ++i) all += text(report, i, "Name") + " ";
  return all;
}

opd_profile_options defaults() {
  opd_profile_options options;
  opd_profile_options_init(&options);
  return options;
}

Report profile(const Vm &vm, const opd_profile_options &options) {
  const Tensor x = floats({0, 0, 0, 0});
  const opd_value args[] = {arg(x)};
  Report report;
  check(opd_vm_profile(vm.get(), "main", args, 1, nullptr, &options, report.out(), nullptr));
  return report;
}

Handle<opd_trace> profile_trace(const opd_profile_options &options) {
  const Tensor x = floats({0, 0, 0, 0});
  const opd_value args[] = {arg(x)};
  Report report;
  Handle<opd_trace> trace;
  check(opd_vm_profile(program().get(), "main", args, 1, nullptr, &options, report.out(), trace.out()));
  return trace;
}

Report stop(const Vm &vm) {
  Report report;
  check(opd_vm_profile_stop(vm.get(), report.out(), nullptr));
  return report;
}

double total(const Report &report) { return number_of(device_value(report, "cpu0", "Duration (us)")); }
int64_t runs(const Report &report) { return device_value(report, "cpu0", "Count").view().u.int64; }

TEST(VmProfile, HasARowPerCallWithATensorAndRowsForTheRest) {
  const Vm vm = program();
  const Tensor x = floats({0, 0, 0, 0});
  const opd_value args[] = {arg(x)};
  Report report;
  Handle<opd_trace> trace;
  check(opd_vm_profile(vm.get(), "main", args, 1, nullptr, nullptr, report.out(), trace.out()));
  EXPECT_EQ(names(report), "\"test.profile.kernel\" \"test.profile.kernel\" \"inner\" \"(dispatch)\" \"(profiler)\" ");
  EXPECT_EQ(opd_trace_call_count(trace.get()), 3u);
  EXPECT_EQ(text(report, 0, "Argument Shapes"), "\"float32[4]\"");
  EXPECT_GE(number(report, 0, "Duration (us)"), 0.0);
  EXPECT_EQ(configuration_value(report, "Executor").to_string(), "\"VM\"");
  // The outermost rows add up to the total: the kernel that main calls, inner, and the two that are computed.
  const double sum = number(report, 0, "Duration (us)") + number(report, 2, "Duration (us)") +
                     number(report, 3, "Duration (us)") + number(report, 4, "Duration (us)");
  EXPECT_NEAR(sum, total(report), 1e-6 * total(report) + 1e-9);
}

TEST(VmProfile, ShowsBuiltinsOnRequestAndFoldsThem) {
  const Vm vm = program();
  opd_profile_options options = defaults();
  options.builtins = OPD_BUILTINS_ALL;
  EXPECT_EQ(
      names(profile(vm, options)),
      "\"vm.builtin.make_shape\" \"test.profile.kernel\" \"test.profile.plain\" \"test.profile.kernel\" \"inner\" "
      "\"(dispatch)\" \"(profiler)\" ");
  options.builtins = OPD_BUILTINS_FOLDED;
  options.repeat = 3;
  const Report folded = profile(vm, options);
  EXPECT_EQ(opd_report_call_count(folded.get()), 3 * 4 + 3 * 3) << "each run has the three computed rows";
  EXPECT_EQ(text(folded, 12, "Name"), "\"(builtins)\"");
  EXPECT_EQ(number(folded, 12, "Count"), 1);
  options.builtins = opd_profile_builtins(3);
  Report none;
  expect_error(opd_vm_profile(vm.get(), "main", nullptr, 0, nullptr, &options, none.out(), nullptr),
               OPD_INVALID_ARGUMENT, "builtins is 3, but must be");
}

TEST(VmProfile, WithABudgetMakesCallsUntilTheMediansAreSettled) {
  const Vm vm = program();
  opd_profile_options options = defaults();
  options.repeat = 2;
  options.budget_s = 60;
  const Report settled = profile(vm, options);
  const std::string table = summary(settled, 100);
  EXPECT_NE(table.find(", median of "), std::string::npos) << table;
  const auto last = static_cast<int32_t>(opd_report_call_count(settled.get()) - 1);
  EXPECT_GE(number(settled, last, "Repeat"), 9) << "at least ten runs";
  EXPECT_EQ(text(settled, last, "Row Kind"), "\"profiler\"");
  options.budget_s = 1e-9;
  const Report spent = profile(vm, options);
  EXPECT_EQ(number(spent, static_cast<int32_t>(opd_report_call_count(spent.get()) - 1), "Repeat"), 1);
}

TEST(VmProfile, WithABudgetStaysWithinTheLimitOfRecords) {
  opd_profile_options options = defaults();
  options.budget_s = 60;
  options.max_records = 40;
  const Handle<opd_trace> trace = profile_trace(options);
  EXPECT_EQ(opd_trace_dropped_count(trace.get()), 0u);
}

TEST(VmProfile, RefusesABudgetThatIsNotATime) {
  for (const double seconds : {-1.0, double{NAN}, double{INFINITY}}) {
    opd_profile_options options = defaults();
    options.budget_s = seconds;
    Report none;
    expect_error(opd_vm_profile(program().get(), "main", nullptr, 0, nullptr, &options, none.out(), nullptr),
                 OPD_INVALID_ARGUMENT, "budget_s must be at least 0 and finite");
  }
}

TEST(VmProfile, HasATraceOfTheSameCalls) {
  opd_profile_options options = defaults();
  options.max_records = 2;
  const Handle<opd_trace> trace = profile_trace(options);
  EXPECT_EQ(opd_trace_call_count(trace.get()), 2u);
  EXPECT_GT(opd_trace_dropped_count(trace.get()), 0u);
  EXPECT_NE(text_of(opd_trace_write, trace.get(), OPD_TRACE_CHROME, nullptr).find("\"traceEvents\""),
            std::string::npos);
}

// main calls inner, which calls a kernel: the time of both is in the time of inner.
TEST(VmProfile, SumsOfNestedCallsAreTheTotal) {
  const Report report = profile(program(), defaults());
  const std::string table = report.table();
  const std::string sum = table.substr(table.find("\nSum") + 4), total_row = table.substr(table.find("\nTotal") + 6);
  EXPECT_NEAR(std::stod(sum), std::stod(total_row), 0.02) << table;
  EXPECT_EQ(report.kind(OPD_REPORT_CALLS, 1, "Depth"), OPD_METRIC_COUNT) << "the kernel within inner";
  EXPECT_EQ(report.kind(OPD_REPORT_CALLS, 2, "Depth"), OPD_METRIC_NONE) << "inner";
  EXPECT_NEAR(number(report, 2, "Self (us)"), number(report, 2, "Duration (us)") - number(report, 1, "Duration (us)"),
              1e-6);
  EXPECT_EQ(text(report, 3, "Row Kind"), "\"dispatch\"");
}

// Static buffers would leave nothing to show: the program runs as it is written.
TEST(VmProfile, ShowsAllocationsWithTheirMemoryIfBuiltinsAreShown) {
  define("test.profile.kernel", [](const opd_value *, int32_t, opd_value *) {});
  const Vm vm(Executable::assemble(R"(
.func main(x) {
  %storage = call vm.builtin.alloc_storage(%vm, shape(4096), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%storage, 0, shape(1024), dtype(float32))
  call test.profile.kernel(%x, %t)
  ret %t
})")
                  .to_module());
  opd_profile_options options = defaults();
  options.builtins = OPD_BUILTINS_ALL;
  options.warmup = 0;
  Handle<opd_collector> memory;
  check(opd_collector_create_builtin(OPD_COLLECTOR_MEMORY, nullptr, memory.out()));
  opd_collector *collectors[] = {memory.get()};
  options.collectors = collectors, options.num_collectors = 1;
  const Report report = profile(vm, options);
  EXPECT_EQ(names(report),
            "\"vm.builtin.alloc_storage\" \"vm.builtin.alloc_tensor\" \"test.profile.kernel\" \"(dispatch)\" "
            "\"(profiler)\" ");
  EXPECT_EQ(number(report, 0, "Allocated (bytes)"), 4096);
  EXPECT_EQ(number(report, 2, "Allocated (bytes)"), 0);
}

TEST(VmProfile, CountsTheBytesOfVectorsAndOfElementsBelowAByte) {
  const Vm vm = program();
  opd_profile_options options = defaults();
  options.details = 1;
  const std::pair<const char *, double> cases[] = {{"float32x4", 3 * 16}, {"int4", 2}, {"float32", 3 * 4}};
  for (const auto &[dtype, bytes] : cases) {
    const Tensor x(std::vector<int64_t>{3}, dtype);
    const opd_value args[] = {arg(x)};
    Report report;
    check(opd_vm_profile(vm.get(), "main", args, 1, nullptr, &options, report.out(), nullptr));
    EXPECT_EQ(number(report, 0, "Tensors (bytes)"), bytes) << dtype;
  }
}

TEST(VmProfile, HasARowForAFailedKernelOfAnApplication) {
  define("test.profile.kernel", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no luck"); });
  const Vm vm(Executable::assemble(".func main(x) {\n  call test.profile.kernel(%x)\n  ret %x\n}\n").to_module());
  check(opd_vm_profile_start(vm.get(), nullptr));
  const Tensor x = floats({0, 0, 0, 0});
  const opd_value args[] = {arg(x)};
  Value result;
  expect_error(opd_vm_call(vm.get(), "main", args, 1, nullptr, result.out()), OPD_CALL_FAILED, "no luck");
  const Report report = stop(vm);
  ASSERT_EQ(names(report), "\"test.profile.kernel\" \"(dispatch)\" \"(profiler)\" ");
  EXPECT_EQ(text(report, 0, "Error"), "\"no luck\"");
  EXPECT_EQ(text(report, 0, "Argument Shapes"), "\"float32[4]\"");
}

// The kernel, then the functions that its error went through, the innermost first; "middle" called one that returned.
TEST(VmProfile, HasRowsForTheFunctionsThatAnErrorEnded) {
  define("test.profile.fails", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no luck"); });
  define("test.profile.kernel", [](const opd_value *, int32_t, opd_value *) {});
  const Vm vm(Executable::assemble(R"(
.func main(x) {
  call middle(%x)
  ret %x
}
.func middle(x) {
  call good(%x)
  call inner(%x)
  ret %x
}
.func good(x) {
  call test.profile.kernel(%x)
  ret %x
}
.func inner(x) {
  call test.profile.fails(%x)
  ret %x
})")
                  .to_module());
  const Tensor x = floats({0, 0, 0, 0});
  vm.profile_start();
  expect_throws([&] { vm.call("main", x); }, OPD_CALL_FAILED, "no luck");
  const Report report = stop(vm);
  ASSERT_EQ(names(report),
            "\"test.profile.kernel\" \"good\" \"test.profile.fails\" \"inner\" \"middle\" \"(dispatch)\" "
            "\"(profiler)\" ");
  for (const size_t row : {0, 1}) EXPECT_EQ(text(report, row, "Error"), "None") << row;
  for (const size_t row : {2, 3, 4}) EXPECT_NE(text(report, row, "Error").find("no luck"), std::string::npos) << row;
  for (const size_t row : {2, 3, 4}) EXPECT_EQ(text(report, row, "Argument Shapes"), "\"float32[4]\"") << row;
  EXPECT_GE(number(report, 4, "Duration (us)"), number(report, 3, "Duration (us)"));
  EXPECT_EQ(text(report, 2, "Depth"), "2") << "inner and middle are around it";
  vm.profile_start();  // the VM goes on as before
  expect_throws([&] { vm.call("main", x); }, OPD_CALL_FAILED, "no luck");
  EXPECT_EQ(names(stop(vm)), names(report));
}

// What ends a call before a kernel runs is an exception inside of the VM, and no error that a kernel returned.
TEST(VmProfile, HasRowsForTheFunctionsThatACancelledCallHadEntered) {
  const CancelToken token = CancelToken::create();
  define("test.profile.cancels", [&token](const opd_value *, int32_t, opd_value *) { token.cancel(); });
  const Vm vm(Executable::assemble(R"(
.func main(x) {
  call inner(%x)
  ret %x
}
.func inner(x) {
  call test.profile.cancels(%x)
  call test.profile.cancels(%x)
  ret %x
})")
                  .to_module());
  const Tensor x = floats({0, 0, 0, 0});
  auto options = opdyno::defaults(opd_call_options_init);
  options.cancel = token.get();
  vm.profile_start();
  expect_throws([&] { vm.call_with(options, "main", {arg(x)}); }, OPD_CANCELLED);
  const Report report = stop(vm);
  ASSERT_EQ(names(report), "\"test.profile.cancels\" \"inner\" \"(dispatch)\" \"(profiler)\" ");
  EXPECT_EQ(text(report, 0, "Error"), "None");
  EXPECT_NE(text(report, 1, "Error"), "None");
}

TEST(VmProfile, HasTheTurnOfItsOptions) {
  opd_profile_options options = defaults();
  options.turn = 7;
  EXPECT_EQ(configuration_value(profile(program(), options), "Turn").view().u.int64, 7);
  options.turn = -1;
  expect_throws([&] { profile(program(), options); }, OPD_INVALID_ARGUMENT, "turn");
}

TEST(VmProfile, HasStartThreadAndCallPathOnRequest) {
  const Vm vm = program();
  opd_profile_options options = defaults();
  options.details = 1;
  options.repeat = 2;
  const Report report = profile(vm, options);
  EXPECT_EQ(text(report, 0, "Call Path"), "\"main\"");
  EXPECT_EQ(text(report, 1, "Call Path"), "\"main/inner\"");
  EXPECT_EQ(text(report, 2, "Call Path"), "\"main\"");
  EXPECT_EQ(number(report, 0, "Tensors (bytes)"), 16);
  EXPECT_EQ(number(report, 2, "Run"), 0);
  EXPECT_EQ(number(report, 3, "Run"), 1);
  for (size_t i = 1; i < 3; ++i) EXPECT_LE(number(report, 0, "Start (us)"), number(report, i, "Start (us)"));
  EXPECT_LE(number(report, 2, "Self (us)"), number(report, 2, "Duration (us)"));
  EXPECT_EQ(text(report, 0, "Thread"), text(report, 3, "Thread"));
}

TEST(VmProfile, SeesEveryCallOfAnApplicationOnEveryThread) {
  const Vm vm = program();
  opd_profile_options options = defaults();
  options.details = 1;
  check(opd_vm_profile_start(vm.get(), &options));
  expect_error(opd_vm_profile_start(vm.get(), nullptr), OPD_FAILED_PRECONDITION, "profiled already");
  const Handle<opd_function> bound = [&] {
    Handle<opd_function> made;
    check(opd_vm_get_function(vm.get(), "main", made.out()));
    return made;
  }();
  const Tensor x = floats({1, 2, 3, 4});
  const auto call_often = [&] {
    for (int i = 0; i < 5; ++i) vm.call("main", x);
  };
  std::thread other(call_often), third(call_often);
  other.join();
  third.join();
  const opd_value argument = arg(x);
  Value result;
  check(opd_function_call(bound.get(), &argument, 1, result.out()));
  Report report;
  Handle<opd_trace> trace;
  check(opd_vm_profile_stop(vm.get(), report.out(), trace.out()));
  EXPECT_EQ(runs(report), 11);
  ASSERT_EQ(opd_report_call_count(report.get()), 11 * 3 + 2);
  EXPECT_EQ(opd_trace_call_count(trace.get()), 11u * 3);
  std::map<std::string, int> threads, seen;
  for (size_t i = 0; i < 33; ++i) ++threads[text(report, i, "Thread")], ++seen[text(report, i, "Run")];
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(seen.size(), 11u) << "each call is a run";
  expect_error(opd_vm_profile_stop(vm.get(), report.out(), nullptr), OPD_FAILED_PRECONDITION, "not being profiled");
  vm.call("main", x);
  check(opd_vm_profile_start(vm.get(), nullptr));
  EXPECT_EQ(runs(stop(vm)), 0) << "what ran between is not part of it";
}

// Ranges, memory and tasks are the profiler's: nobody asked for them.
TEST(VmProfile, HoldsOnlyTheCallsOfItsVm) {
  const Vm vm = program();
  define("test.profile.kernel", [](const opd_value *, int32_t, opd_value *) {
    const opdyno::Range range("a range within");
    const Tensor tensor({1000}, "float32");
  });
  check(opd_vm_profile_start(vm.get(), nullptr));
  vm.call("main", floats({0, 0, 0, 0}));
  Report report;
  opdyno::Trace trace;
  check(opd_vm_profile_stop(vm.get(), report.out(), trace.out()));
  const Report events = trace.report(OPD_TRACE_EVENTS);
  std::map<std::string, int> kinds;
  for (size_t row = 0; row < events.count(); ++row) ++kinds[text(events, row, "Kind")];
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"\"call\"", 3}, {"\"run\"", 1}})) << "the kernel twice, and inner";
  const std::string chrome = trace.chrome();
  for (const char *other : {"a range within", "[memory]", "stack"})
    EXPECT_EQ(chrome.find(other), std::string::npos) << other;
}

TEST(VmProfile, CanSampleAnApplication) {
  const Vm vm = program();
  opd_profile_options options = defaults();
  options.sample_interval = 10;
  check(opd_vm_profile_start(vm.get(), &options));
  for (int i = 0; i < 95; ++i) vm.call("main", floats({1}));
  const Report report = stop(vm);
  EXPECT_EQ(runs(report), 10) << "the first of each ten";
  EXPECT_EQ(configuration_value(report, "Sample interval").view().u.int64, 10);
  options.sample_interval = 0;
  expect_error(opd_vm_profile_start(vm.get(), &options), OPD_INVALID_ARGUMENT, "sample_interval");
}

TEST(VmProfile, StopWaitsForTheCallsThatAreBeingRecorded) {
  static std::atomic<int> stage{0};
  stage = 0;
  static const opd_vm *self = nullptr;
  define("test.profile.wait", [](const opd_value *, int32_t, opd_value *) {
    Report none;
    expect_error(opd_vm_profile_stop(const_cast<opd_vm *>(self), none.out(), nullptr), OPD_FAILED_PRECONDITION,
                 "from inside of a call");
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  const Vm vm(Executable::assemble(".func main(x) {\n  call test.profile.wait(%x)\n  ret %x\n}").to_module());
  self = vm.get();
  check(opd_vm_profile_start(vm.get(), nullptr));
  std::thread caller([&] { vm.call("main", floats({1})); });
  while (stage != 1) std::this_thread::yield();
  std::thread stopper([&] {
    const Report report = stop(vm);
    EXPECT_EQ(runs(report), 1);
    EXPECT_EQ(opd_report_call_count(report.get()), 1 + 2);
  });
  stage = 2;
  caller.join();
  stopper.join();
}

}  // namespace
