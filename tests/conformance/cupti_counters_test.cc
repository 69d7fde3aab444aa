// Counters of CUDA kernels, by a range profiler of the test's (support/cupti/ranges.h) and the recording driver.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/recorded_cuda.h"
#include "support/collector_test.h"
#include "support/cupti/ranges.h"
#include "support/occurrences.h"

using namespace opdyno_test;

namespace {

class CountedCuda : public OnRecordedCuda {
 protected:
  static CuptiRanges &cupti() {
    static CuptiRanges *const ranges = [] {
      void *const library = dlopen("libcupti.so", RTLD_NOW);
      return reinterpret_cast<CuptiRanges *(*)()>(dlsym(library, "cupti_ranges"))();
    }();
    return *ranges;
  }
  void TearDown() override {
    if (cuda_driver::is_real_cuda()) return;
    cupti().fail("");
    cupti().drop_ranges(false);
    EXPECT_EQ(cupti().num_alive(), 0u) << "nothing is left when a run is over";
    cupti().calls();
    OnRecordedCuda::TearDown();
  }
  static Collector counting(const std::vector<const char *> &metrics) {
    auto options = opdyno::defaults(opd_counter_options_init);
    options.events = metrics.data(), options.num_events = static_cast<int32_t>(metrics.size());
    return Collector::builtin(OPD_COLLECTOR_DEVICE, &options);
  }
  // Operators that count 5, then a function that counts 7, an operator in it that counts 3, and 11 after it.
  static Vm vm() {
    define("test.ranges.add",
           [](const opd_value *args, int32_t, opd_value *) { cupti().add(static_cast<uint64_t>(args[1].u.int64)); });
    auto options = opdyno::defaults(opd_vm_options_init);
    options.devices = &kDevice, options.num_devices = 1;
    return Vm(Executable::assemble(R"(
.func inner(x) {
  call test.ranges.add(%x, 7)
  call test.ranges.add(%x, 3)
  ret %x
}
.func main(x) {
  call test.ranges.add(%x, 5)
  %y = call inner(%x)
  call test.ranges.add(%x, 11)
  ret %y
})")
                  .to_module(),
              &options);
  }
  static std::string error_of(const std::vector<const char *> &metrics) {
    const MainProfile profile(vm(), {counting(metrics)}, on(kDevice, {1}));
    return profile.configured("Collector error: device");
  }
};

}  // namespace

TEST_F(CountedCuda, HasTheCountsOfEachCallAndOfAllOfThem) {
  const MainProfile profile(vm(), {counting({"first.sum", "second.sum"})}, on(kDevice, {1}));
  std::multiset<int64_t> firsts;
  for (size_t row = 0; row < profile.rows(); ++row) {
    const int64_t first = profile.count(row, "first.sum");
    firsts.insert(first);
    EXPECT_EQ(profile.count(row, "second.sum"), 10 * first);
  }
  EXPECT_EQ(firsts, (std::multiset<int64_t>{3, 5, 7, 7 + 3, 11}));
  EXPECT_EQ(profile.device("cuda0", "first.sum"), 5 + 7 + 3 + 11);
  EXPECT_EQ(profile.device("cuda0", "second.sum"), 260);
  EXPECT_FALSE(profile.has_configuration("Collector error: device"));
  EXPECT_FALSE(profile.has_configuration("Collector note: device"));
}

// Each stretch begins and ends while the device has no work.
TEST_F(CountedCuda, MeasuresOneIntervalAfterTheOther) {
  const Function counted = [] {
    const std::vector<Collector> collectors = {counting({"first.sum"})};
    const std::vector<opd_collector *> handles = handles_of(collectors);
    Function function;
    check(opd_function_profile(make_function([](const opd_value *, int32_t, opd_value *) { cupti().add(2); }).get(),
                               kDevice, handles.data(), 1, 0, function.out()));
    return function;
  }();
  cupti().calls();
  cuda_driver::Recording::log();
  EXPECT_EQ(metrics_of(counted())["first.sum"].number, 2);
  EXPECT_EQ(cupti().calls(),
            "ProfilerInitialize\nDeviceGetChipName\nProfilerHostInitialize\nProfilerHostConfigAddMetrics\n"
            "ProfilerHostGetConfigImageSize\nProfilerHostGetConfigImage\nProfilerHostGetNumOfPasses\n"
            "RangeProfilerEnable\nRangeProfilerGetCounterDataSize\nRangeProfilerCounterDataImageInitialize\n"
            "RangeProfilerSetConfig\nRangeProfilerStart\nRangeProfilerPushRange\n"
            "RangeProfilerPopRange\nRangeProfilerStop\nRangeProfilerDecodeData\nRangeProfilerGetCounterDataInfo\n"
            "ProfilerHostEvaluateToGpuValues\nRangeProfilerDisable\nProfilerHostDeinitialize\n");
  EXPECT_GE(occurrences(cuda_driver::Recording::log(), "cuCtxSynchronize\n"), 2u);
}

TEST_F(CountedCuda, ErrorsNameTheReasonWhyMetricsCannotBeMeasured) {
  EXPECT_EQ(error_of({"first.avg"}),
            "the counts of kernels are added up, so a metric of CUPTI must end with .sum, but first.avg does not");
  EXPECT_EQ(error_of({}),
            "the collector device counts on CUDA what is named: metrics of CUPTI, as sm__inst_executed.sum");
  EXPECT_EQ(
      error_of({"costly.sum", "first.sum"}),
      "cannot measure 2 metrics on cuda:0: this needs 3 runs of each kernel, but a kernel runs only once; request "
      "fewer metrics");
  EXPECT_EQ(error_of({"unknown.sum"}).substr(0, 86),
            "kernels of cuda:0 cannot be counted: cuptiProfilerHostConfigAddMetrics returned error ");
}

TEST_F(CountedCuda, NamesTheFailedCallAndFreesEverything) {
  for (const std::string function :
       {"ProfilerInitialize", "DeviceGetChipName", "ProfilerHostInitialize", "ProfilerHostConfigAddMetrics",
        "ProfilerHostGetConfigImageSize", "ProfilerHostGetConfigImage", "ProfilerHostGetNumOfPasses",
        "RangeProfilerEnable", "RangeProfilerGetCounterDataSize", "RangeProfilerCounterDataImageInitialize",
        "RangeProfilerSetConfig", "RangeProfilerStart", "RangeProfilerPushRange", "RangeProfilerPopRange",
        "RangeProfilerStop", "RangeProfilerDecodeData", "RangeProfilerGetCounterDataInfo",
        "ProfilerHostEvaluateToGpuValues"}) {
    cupti().fail(function);
    EXPECT_EQ(error_of({"first.sum"}), "kernels of cuda:0 cannot be counted: cupti" + function +
                                           " returned CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)");
    cupti().fail("");
    EXPECT_EQ(cupti().num_alive(), 0u) << function;
  }
  cupti().drop_ranges(true);
  EXPECT_EQ(error_of({"first.sum"}), "counts of kernels of cuda:0 are lost: CUPTI dropped 1 range");
}

// While calls of several threads overlap, each has what the whole device did.
TEST_F(CountedCuda, IsOfTheWholeDevice) {
  const Vm both = vm();
  start_profile(both, {counting({"first.sum"})});
  both.call("main", on(kDevice, {1}));
  const RunReport profile = stop_profile(both);
  EXPECT_NE(profile.configured("Collector note: device").find("of the whole device"), std::string::npos);
  EXPECT_EQ(profile.device("cuda0", "first.sum"), 26);
}

TEST_F(CountedCuda, IsNotInAChildOfFork) {
  const Vm here = vm();
  start_profile(here, {counting({"first.sum"})});
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(stop_profile(here).report ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  stop_profile(here);
}
