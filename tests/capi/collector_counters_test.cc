// Collectors that are built in, measured against what a kernel is known to do: it touches fresh pages, adds to a
// counter and sleeps, on every thread of the pool.
#include <dlfcn.h>
#include <sched.h>

#include <atomic>

#include "support/counted_work.h"

#ifdef OPDYNO_TEST_SDE
extern "C" {  // of PAPI's sde_lib.h
void *papi_sde_init(const char *library);
int papi_sde_register_counter(void *handle, const char *event, int mode, int type, void *counter);
}
#endif

using namespace opdyno_test;

namespace {

class Counters : public testing::TestWithParam<Vm (*)()> {
 protected:
  const Threads threads;
  const Tensor x = floats({1});
  Work work{100, kThreads, nullptr};
  std::vector<opd_value> args() { return {arg(x), opd_pointer(&work)}; }

  // Page faults of `event`: exactly those of the pages, on every thread.
  void expect_page_faults(const Collector &collector, const std::string &event) {
    const Vm vm = GetParam()();
    const MainProfile profile(vm, {collector}, args(), 2, 2);
    ASSERT_EQ(profile.rows(), 4u);
    for (const size_t row : {size_t{0}, size_t{2}}) {
      expect_pages(profile.count(row, event.c_str()), kThreads * work.pages);
      expect_pages(profile.count(row, (event + " (least of threads)").c_str()), work.pages);
      expect_pages(profile.count(row, (event + " (most of threads)").c_str()), work.pages);
      expect_pages(profile.count(row + 1, event.c_str()), work.pages);
      expect_pages(profile.count(row + 1, (event + " (least of threads)").c_str()), 0);
      expect_pages(profile.count(row + 1, (event + " (most of threads)").c_str()), work.pages);
    }
    EXPECT_GE(profile.device("cpu0", event.c_str()), 2 * (kThreads + 1) * work.pages);
  }
};

}  // namespace

TEST_P(Counters, CountEveryPageOfEveryThreadByPerf) {
  Collector perf;
  if (const std::string why = refusal(make(OPD_COLLECTOR_PERF, {"page-faults"}, perf, true)); !why.empty())
    GTEST_SKIP() << why;
  expect_page_faults(perf, "page-faults");
}

TEST_P(Counters, CountEveryPageOfEveryThreadByPapi) {
  Collector papi;
  if (const std::string why = refusal(make(OPD_COLLECTOR_PAPI, {"perf::PAGE-FAULTS"}, papi, true)); !why.empty())
    GTEST_SKIP() << why;
  expect_page_faults(papi, "perf::PAGE-FAULTS");
  expect_page_faults(papi, "perf::PAGE-FAULTS");  // a collector serves again
}

// Workers that do not exist yet join before their first task, also without a warm-up.
TEST_P(Counters, SeeWorkersThatStartDuringTheCall) {
  Collector perf;
  if (const std::string why = refusal(make(OPD_COLLECTOR_PERF, {"page-faults"}, perf, true)); !why.empty())
    GTEST_SKIP() << why;
  const Vm vm = GetParam()();
  static int64_t most = 8;  // tasks of a gang, more than ever ran at once
  work.tasks = most += 4;
  work.pages = 5000;  // beside which a new thread's own page faults are few
  const MainProfile profile(vm, {perf}, args(), 0);
  const int64_t pages = work.tasks * work.pages;
  EXPECT_GE(profile.count(0, "page-faults"), pages);
  EXPECT_LT(profile.count(0, "page-faults"), pages + pages / 10);
}

#ifdef OPDYNO_TEST_SDE
TEST_P(Counters, MayBeSoftwareDefinedEventsOfPapi) {
  static long long counter = 0;
  static void *const library = papi_sde_init("opdyno_test");
  static const int registered = papi_sde_register_counter(library, "added", 0, 0, &counter);
  ASSERT_EQ(registered, 0);
  work.counter = &counter;
  Collector papi;
  if (const std::string why =
          refusal(make(OPD_COLLECTOR_PAPI, {"sde:::opdyno_test::added", "perf::PAGE-FAULTS"}, papi, true));
      !why.empty())
    GTEST_SKIP() << why;
  const Vm vm = GetParam()();
  const MainProfile profile(vm, {papi}, args(), 1, 1);
  EXPECT_EQ(profile.count(0, "sde:::opdyno_test::added"), kThreads * work.pages);
  EXPECT_EQ(profile.count(1, "sde:::opdyno_test::added"), work.pages);
  expect_pages(profile.count(0, "perf::PAGE-FAULTS"), kThreads * work.pages);
  EXPECT_EQ(profile.device("cpu0", "sde:::opdyno_test::added"), (kThreads + 1) * work.pages);
  EXPECT_EQ(profile.columns().count("sde:::opdyno_test::added (most of threads)"), 0u) << "of the process";
}
#endif

TEST_P(Counters, CountTheTimeOfEveryThread) {
  Collector time;
  ASSERT_EQ(refusal(make(OPD_COLLECTOR_TIME, {}, time, true)), "");
  work.pages = 4000;
  const Vm vm = GetParam()();
  const MainProfile profile(vm, {time}, args());
  const double cpu = profile.number(0, "CPU time (us)"), most = profile.number(0, "CPU time (us) (most of threads)"),
               least = profile.number(0, "CPU time (us) (least of threads)"),
               wall = profile.number(0, "Wall time (us)");
  EXPECT_GT(least, 0) << "each thread worked";
  EXPECT_GE(most, least);
  EXPECT_GE(cpu, kThreads * least);
  EXPECT_LE(cpu, kThreads * most);
  EXPECT_GE(wall, profile.number(0, "Duration (us)")) << "around the call, whose time is taken inside";
}

INSTANTIATE_TEST_SUITE_P(Modes, Counters, testing::Values(&bytecode, &compiled),
                         [](const auto &info) { return info.index ? "compiled" : "bytecode"; });

namespace {

// The usual events are those of the hardware.
void expect_usual_events(opd_collector_kind create, const std::string &one) {
  Collector collector;
  const std::string why = refusal(make(create, {}, collector));
  if (!why.empty()) {
    EXPECT_NE(why.find(one), std::string::npos) << why;
    const auto says = [&](const char *cause) { return why.find(cause) != std::string::npos; };
    EXPECT_TRUE(says("machine") || says("forbidden") || says("no such event here")) << why;
    ASSERT_EQ(refusal(make(create, {}, collector, false, true)), "") << "with best effort";
  }
  const Vm vm = bytecode();
  const Tensor x = floats({1});
  Work work{1, 1, nullptr};
  const MainProfile profile(vm, {collector}, std::vector<opd_value>{arg(x), opd_pointer(&work)});
  if (why.empty()) {
    EXPECT_GT(profile.count(0, one.c_str()), 0);
    return;
  }
  const std::string key = create == OPD_COLLECTOR_PAPI ? "Collector note: papi" : "Collector note: perf";
  EXPECT_NE(profile.configured(key.c_str()).find("event " + one + " is left out: "), std::string::npos);
  GTEST_SKIP() << why;
}

}  // namespace

TEST(Perf, CountsTheHardwareOrSaysWhyNot) { expect_usual_events(OPD_COLLECTOR_PERF, "cycles"); }

TEST(Perf, SuggestsASimilarEventName) {
  Collector collector;
  expect_error(make(OPD_COLLECTOR_PERF, {"page-fault"}, collector), OPD_NOT_FOUND, "page-faults");
  const std::vector<const char *> many(300, "task-clock");
  expect_error(make(OPD_COLLECTOR_PERF, many, collector), OPD_INVALID_ARGUMENT, "more than once");
}

TEST(Perf, ListsOnlyEventsThatCanBeCountedHere) {
  Handle<opd_array> events;
  check(opd_collector_list_events(OPD_COLLECTOR_PERF, events.out()));
  for (int32_t i = 0; i < opd_array_count(events.get()); ++i) {
    Value name;
    check(opd_array_get(events.get(), i, name.out()));
    Collector collector;
    EXPECT_EQ(refusal(make(OPD_COLLECTOR_PERF, {string_of(name).c_str()}, collector)), "");
  }
}

// If the library is there and knows an event that the kernel counts, PAPI must count it. It may know none: its events
// come from libpfm4, which fails on processors that are newer.
TEST(Papi, CountsEventsThatTheKernelCounts) {
  void *papi = nullptr;
  for (const char *name : {"libpapi.so.7.0", "libpapi.so.7.1", "libpapi.so.7.2", "libpapi.so"})
    if (!papi) papi = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!papi) GTEST_SKIP() << "PAPI is not installed";
  Collector collector;
  if (const std::string why = refusal(make(OPD_COLLECTOR_PERF, {"page-faults"}, collector)); !why.empty())
    GTEST_SKIP() << why;
  const std::string why = refusal(make(OPD_COLLECTOR_PAPI, {"perf::PAGE-FAULTS"}, collector));  // initialises PAPI
  const auto find_event = reinterpret_cast<int (*)(const char *, int *)>(dlsym(papi, "PAPI_event_name_to_code"));
  int code = 0;
  ASSERT_TRUE(find_event);
  if (find_event("perf::PAGE-FAULTS", &code) != 0) GTEST_SKIP() << "PAPI does not know this processor: " << why;
  EXPECT_EQ(why, "");
}

TEST(Papi, CountsTheHardwareOrSaysWhyNot) {
  Handle<opd_array> events;
  if (const std::string why = refusal(opd_collector_list_events(OPD_COLLECTOR_PAPI, events.out())); !why.empty())
    GTEST_SKIP() << why;
  expect_usual_events(OPD_COLLECTOR_PAPI, "perf::CYCLES");
}

TEST(Papi, ListsOnlyEventsThatCanBeCountedHere) {
  Handle<opd_array> events;
  if (const std::string why = refusal(opd_collector_list_events(OPD_COLLECTOR_PAPI, events.out())); !why.empty())
    GTEST_SKIP() << why;
  const int32_t count = opd_array_count(events.get());
  if (count == 0) GTEST_SKIP() << "PAPI can count nothing on this machine";
  for (int32_t i = 0; i < count; i += 5) {
    Value name;
    check(opd_array_get(events.get(), i, name.out()));
    Collector collector;
    EXPECT_EQ(refusal(make(OPD_COLLECTOR_PAPI, {string_of(name).c_str()}, collector)), "");
  }
}

TEST(Papi, RefusesUnknownEvents) {
  Collector collector;
  opd_error *error = make(OPD_COLLECTOR_PAPI, {"no::SUCH-EVENT"}, collector);
  ASSERT_NE(error, nullptr);
  const Error refused(error);
  if (refused.message().find("PAPI library") != std::string::npos) GTEST_SKIP() << refused.message();
  EXPECT_NE(refused.message().find("no::SUCH-EVENT"), std::string::npos) << refused.message();
}

TEST(Papi, CountsOnlyDuringCallsOnTheEventsDevice) {
  const char *const names[] = {"perf::PAGE-FAULTS", "perf::TASK-CLOCK"};
  const DLDevice devices[] = {{kDLCPU, 0}, {kDLCPU, 1}};
  opd_counter_options options;
  opd_counter_options_init(&options);
  options.num_events = 2;
  options.events = names;
  options.devices = devices;
  Collector collector;
  if (const std::string why = refusal(opd_collector_create_builtin(OPD_COLLECTOR_PAPI, &options, collector.out()));
      !why.empty())
    GTEST_SKIP() << why;
  const Vm vm = bytecode();
  const Tensor x = floats({1});
  Work work{10, 1, nullptr};
  const MainProfile profile(vm, {collector}, std::vector<opd_value>{arg(x), opd_pointer(&work)});
  expect_pages(profile.count(0, "perf::PAGE-FAULTS"), 10);
  EXPECT_EQ(profile.columns().count("perf::TASK-CLOCK"), 0u);
}

TEST(Memory, CountsTheAllocationsAndThePeakOfACall) {
  define("test.allocates", [](const opd_value *, int32_t, opd_value *) {
    const Tensor first({250}, "float32");       // 1000 bytes
    { const Tensor second({500}, "float32"); }  // 2000 bytes more, gone again
    const Tensor third({100}, "float32");
  });
  const Vm vm(Executable::assemble(".func main(x) {\n  call test.allocates(%x)\n  ret %void\n}\n").to_module());
  Collector memory;
  check(opd_collector_create_builtin(OPD_COLLECTOR_MEMORY, nullptr, memory.out()));
  opd_memory_stats before{}, after{};
  before.struct_size = after.struct_size = sizeof before;
  const Tensor x = floats({1});
  check(opd_memory_get_stats({kDLCPU, 0}, &before));
  const MainProfile profile(vm,
                            {
                                memory,
                            },
                            x);
  check(opd_memory_get_stats({kDLCPU, 0}, &after));
  EXPECT_EQ(profile.count(0, "Allocated (bytes)"), 3400);
  EXPECT_EQ(profile.count(0, "Freed (bytes)"), 3400);
  EXPECT_EQ(profile.count(0, "Peak (bytes)"), 3000);
  EXPECT_EQ(profile.device("cpu0", "Peak (bytes)"), 3000) << "the run's peak has that of the call in it";
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_GE(after.peak_bytes, before.live_bytes + 3000) << "the device's own peak stays what it was";
}

TEST(Energy, IsMeasuredOrTheErrorNamesTheReason) {
  Collector energy;
  const std::string why = refusal(opd_collector_create_builtin(OPD_COLLECTOR_ENERGY, nullptr, energy.out()));
  if (!why.empty()) {
    EXPECT_NE(why.find("energy cannot be measured: "), std::string::npos) << why;
    GTEST_SKIP() << why;
  }
  const Vm vm = bytecode();
  const Tensor x = floats({1});
  Work work{1, 1, nullptr};
  const MainProfile profile(vm, {energy}, std::vector<opd_value>{arg(x), opd_pointer(&work)});
  EXPECT_GT(profile.columns().size(), 6u);
}

// This process has no NVML of a test: so it is the machine's, if it has one.
TEST(Nvml, IsAvailableOrTheErrorNamesTheReason) {
  Collector nvml;
  const std::string why = refusal(opd_collector_create_builtin(OPD_COLLECTOR_NVML, nullptr, nvml.out()));
  if (why.empty()) return;
  EXPECT_NE(why.find("GPUs cannot be observed by NVML: "), std::string::npos) << why;
  EXPECT_NE(why.find("libnvidia-ml.so.1"), std::string::npos) << why;
}

TEST(CounterOptions, AreChecked) {
  Collector collector;
  opd_counter_options options;
  opd_counter_options_init(&options);
  options.num_events = 1;
  expect_error(opd_collector_create_builtin(OPD_COLLECTOR_PERF, &options, collector.out()), OPD_INVALID_ARGUMENT,
               "events");
  const char *const none[] = {nullptr};
  options.events = none;
  expect_error(opd_collector_create_builtin(OPD_COLLECTOR_PERF, &options, collector.out()), OPD_INVALID_ARGUMENT,
               "events[0] must not be NULL");
  for (const opd_collector_kind kind : {OPD_COLLECTOR_TIME, OPD_COLLECTOR_MEMORY, OPD_COLLECTOR_ENERGY})
    expect_error(make(kind, {"x"}, collector), OPD_INVALID_ARGUMENT, "no events");
  const auto unknown = static_cast<opd_collector_kind>(OPD_COLLECTOR_DEVICE + 1);
  expect_error(make(unknown, {}, collector), OPD_INVALID_ARGUMENT, "kind must be a kind of collectors, but is 7");
  Handle<opd_array> events;
  expect_error(opd_collector_list_events(unknown, events.out()), OPD_INVALID_ARGUMENT,
               "kind must be a kind of collectors, but is 7");
  check(opd_collector_list_events(OPD_COLLECTOR_TIME, events.out()));
  EXPECT_EQ(opd_array_count(events.get()), 0);
}
