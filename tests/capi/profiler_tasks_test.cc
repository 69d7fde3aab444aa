// Tasks of parallel loops: what each thread did inside a loop.
#include <set>
#include <thread>

#include "support/failure.h"
#include "support/occurrences.h"
#include "support/report_test.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace opd {
struct ParallelGroup;  // the sanitizer compares types of functions
}
extern "C" OPD_API void *opd_private_tvmffi_symbol(const char *name);

namespace {

using Task = int (*)(int task_id, opd::ParallelGroup *group, void *data);
// As kernels launch their loops. 0 tasks: as many as there are idle workers.
int launch(Task task, void *data, int num_tasks) {
  static const auto function =
      reinterpret_cast<int (*)(Task, void *, int)>(opd_private_tvmffi_symbol("TVMBackendParallelLaunch"));
  return function(task, data, num_tasks);
}

constexpr int kTasks = 4;
int nothing(int, opd::ParallelGroup *, void *) { return 0; }

Vm loop_vm() {
  define("test.tasks.loop", [](const opd_value *, int32_t, opd_value *) { launch(nothing, nullptr, kTasks); });
  return Vm(Executable::assemble(".func main(x) {\n  call test.tasks.loop(%x)\n  ret %x\n}").to_module());
}

Profiler profiler_with(int32_t tasks, uint64_t max_events = 1 << 20) {
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.parallel_tasks = tasks;
  options.max_events = max_events;
  return Profiler(&options);
}

size_t row_named(const Report &report, const std::string &name) {
  size_t row = 0;
  while (row < report.count(OPD_REPORT_CALLS) && call_text(report, row, "Name") != name) ++row;
  return row;
}

TEST(ATask, IsOnTheTrackOfTheThreadThatRunsIt) {
  const Vm vm = loop_vm();
  const Profiler profiler;
  profiler.start();
  vm.call("main", floats({1}));
  vm.call("main", floats({1}));
  const Trace trace = profiler.stop();
  const Report tasks = trace.report(OPD_TRACE_TASKS), events = trace.report(OPD_TRACE_EVENTS);
  ASSERT_EQ(tasks.count(OPD_REPORT_CALLS), size_t{2 * kTasks});
  std::map<double, std::set<double>> loops, threads;
  std::map<double, double> least_wait;
  for (size_t row = 0; row < size_t{2 * kTasks}; ++row) {
    EXPECT_EQ(call_text(tasks, row, "Name"), "test.tasks.loop");
    EXPECT_EQ(call_number(tasks, row, "Tasks"), kTasks);
    const double loop = call_number(tasks, row, "Loop"), wait = call_number(tasks, row, "Wait (us)");
    EXPECT_TRUE(loops[loop].insert(call_number(tasks, row, "Task")).second);
    EXPECT_TRUE(threads[loop].insert(call_number(tasks, row, "Thread ID")).second) << "all run at the same time";
    EXPECT_GE(wait, 0);
    least_wait[loop] = least_wait.contains(loop) ? std::min(least_wait[loop], wait) : wait;
    const bool is_launching = call_number(tasks, row, "Thread ID") == call_number(events, 0, "Thread ID");
    EXPECT_EQ(is_launching, call_number(tasks, row, "Task") == 0);
    if (is_launching) continue;
    EXPECT_EQ(call_text(tasks, row, "Thread").substr(0, 11), "opd-worker ");
  }
  ASSERT_EQ(loops.size(), 2u);
  for (const auto &[loop, numbers] : loops) {
    EXPECT_EQ(numbers, (std::set<double>{0, 1, 2, 3}));
    EXPECT_EQ(least_wait[loop], 0) << "the last one waits for none";
  }
  // Within the call that launched the loop, in one time base.
  const size_t call = row_named(events, "test.tasks.loop");
  const double begin = call_number(events, call, "Start (us)"),
               end = begin + call_number(events, call, "Duration (us)");
  for (size_t row = 0; row < size_t{kTasks}; ++row) {
    const double start = call_number(tasks, row, "Start (us)");
    EXPECT_GE(start + 1e-3, begin);
    EXPECT_LE(start + call_number(tasks, row, "Duration (us)"), end + 1e-3);
  }
}

TEST(ATask, IsNoOperator) {
  const Vm vm = loop_vm();
  const Profiler with = profiler_with(1), without = profiler_with(0);
  with.start();
  without.start();
  vm.call("main", floats({1}));
  const Trace some = with.stop();
  vm.call("main", floats({1}));
  const Trace none = without.stop();
  EXPECT_EQ(some.size(), 1u);
  EXPECT_EQ(some.report(OPD_TRACE_EVENTS).count(OPD_REPORT_CALLS), 2u) << "the run and the call";
  const Report averages = some.report(OPD_TRACE_KEY_AVERAGES);
  const size_t row = row_named(averages, "test.tasks.loop");
  EXPECT_EQ(call_number(averages, row, "Count"), 1);
  EXPECT_EQ(call_number(averages, row, "Self (us)"), call_number(averages, row, "Duration (us)"))
      << "the loop is its own time";
  EXPECT_EQ(occurrences(some.write(OPD_TRACE_STACKS), "test.tasks.loop"), 1u);
  EXPECT_EQ(none.report(OPD_TRACE_TASKS).count(OPD_REPORT_CALLS), 0u);
  EXPECT_EQ(none.chrome().find("parallel_task"), std::string::npos);
  EXPECT_EQ(none.chrome().find("opd-worker"), std::string::npos);
}

TEST(ATask, IsOnTimeLines) {
  const Vm vm = loop_vm();
  const Profiler profiler;
  profiler.start();
  vm.call("main", floats({1}));
  const Trace trace = profiler.stop();
  const std::string chrome = trace.chrome();
  EXPECT_EQ(occurrences(chrome, "\"cat\":\"parallel_task\",\"name\":\"test.tasks.loop\""), size_t{kTasks});
  for (int task = 0; task < kTasks; ++task)
    EXPECT_EQ(occurrences(chrome, ",\"Task\":" + std::to_string(task) + ",\"Tasks\":4,\"Run\":0}}"), 1u) << chrome;
  EXPECT_EQ(occurrences(trace.write(OPD_TRACE_SPEEDSCOPE), "{\"name\":\"test.tasks.loop (task)\"}"), 1u);
  EXPECT_EQ(occurrences(trace.write(OPD_TRACE_PERFETTO), "parallel_task"), size_t{kTasks}) << "a text of each track";
}

TEST(ATask, IsNamedAfterTheSpanThatLaunchedItsLoop) {
  const Profiler profiler;
  profiler.start();
  launch(nothing, nullptr, kTasks);
  {
    const Range outer("outer");
    launch(nothing, nullptr, kTasks);
    { const Range before("before"); }
    opdyno::mark("moment");
    launch(nothing, nullptr, kTasks);
  }
  std::thread([] {
    const Range elsewhere("elsewhere");
    launch(nothing, nullptr, kTasks);
  }).join();
  const Report tasks = profiler.stop().report(OPD_TRACE_TASKS);
  std::map<std::string, int> names;
  for (size_t row = 0; row < tasks.count(OPD_REPORT_CALLS); ++row) ++names[call_text(tasks, row, "Name")];
  EXPECT_EQ(names, (std::map<std::string, int>{{"parallel_for", 4}, {"outer", 8}, {"elsewhere", 4}}));
}

TEST(ATask, IsCountedOnceIfItFailsOrLaunchesSerially) {
  const Profiler profiler;
  profiler.start();
  launch([](int task, opd::ParallelGroup *, void *) { return task == 2 ? -1 : launch(nothing, nullptr, 0); }, nullptr,
         kTasks);
  const Report tasks = profiler.stop().report(OPD_TRACE_TASKS);
  EXPECT_EQ(tasks.count(OPD_REPORT_CALLS), size_t{kTasks});
}

TEST(ATask, IsStillRecordedWhenAnotherProfilerEnds) {
  const Profiler first, second;
  first.start();
  second.start();
  const Trace early = first.stop();
  launch(nothing, nullptr, kTasks);
  EXPECT_EQ(second.stop().report(OPD_TRACE_TASKS).count(OPD_REPORT_CALLS), size_t{kTasks});
  EXPECT_EQ(early.report(OPD_TRACE_TASKS).count(OPD_REPORT_CALLS), 0u);
}

TEST(ATask, TakesRoomAndIsCountedIfThereIsNone) {
  const Profiler profiler = profiler_with(1, 2);
  profiler.start();
  for (int i = 0; i < 5; ++i) launch(nothing, nullptr, 2);
  const Trace trace = profiler.stop();
  const size_t kept = trace.report(OPD_TRACE_TASKS).count(OPD_REPORT_CALLS);
  EXPECT_EQ(kept + trace.dropped(), 10u);
  EXPECT_LT(kept, 10u);
}

TEST(ATask, IsNotRecordedByAProfileOfAVm) {
  const Vm vm = loop_vm();
  opdyno::Trace trace;
  Report report;
  check(opd_vm_profile_start(vm.get(), nullptr));
  vm.call("main", floats({1}));
  check(opd_vm_profile_stop(vm.get(), report.out(), trace.out()));
  EXPECT_EQ(trace.report(OPD_TRACE_TASKS).count(OPD_REPORT_CALLS), 0u);
}

TEST(ATask, RefusesOtherOptions) {
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.parallel_tasks = 2;
  opd_profiler *made = nullptr;
  EXPECT_EQ(failure(opd_profiler_create(&options, &made)).message, "parallel_tasks must be 0 or 1, but is 2");
}

}  // namespace
