// Activity that CUPTI reports, on a CUPTI that delivers records of the test's (support/cupti) and the recording driver.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conformance/device_work.h"
#include "conformance/recorded_cuda.h"
#include "support/cupti/records.h"
#include "support/report_test.h"

using namespace opdyno_test;
using cuda_driver::Recording;

namespace {

class ReportedActivity : public OnRecordedCuda {
 protected:
  static CuptiRecords &cupti() {
    static CuptiRecords *const records = [] {
      void *const library = dlopen("libcupti.so", RTLD_NOW);
      return reinterpret_cast<CuptiRecords *(*)()>(dlsym(library, "cupti_records"))();
    }();
    return *records;
  }
  static opdyno::Profiler profiler(int32_t device_work = 2) {
    auto options = opdyno::defaults(opd_profiler_options_init);
    options.device_work = device_work;
    return opdyno::Profiler(&options);
  }
  static uint32_t thread() { return static_cast<uint32_t>(syscall(SYS_gettid)); }
  void TearDown() override {
    if (cuda_driver::is_real_cuda()) return;
    EXPECT_EQ(cupti().num_enabled(), 0u) << "nothing is asked for when no profiler records";
    EXPECT_EQ(cupti().depth, 0);
    OnRecordedCuda::TearDown();
  }
};

}  // namespace

TEST_F(ReportedActivity, HasKernelsCopiesFillsAndOverhead) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  EXPECT_EQ(cupti().num_enabled(), 8u);
  {
    const opdyno::Range step("step");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the clocks are related with an error of microseconds
    const uint64_t at = cupti().now();
    cupti().add_call(11, at, at + 2'000, thread());
    cupti().add_kernel("ampere_sgemm", 11, at + 10'000, at + 60'000, 13);
    cupti().add_call(12, at + 3'000, at + 4'000, thread());
    cupti().add_fill(12, at + 60'000, at + 65'000, 256);
    cupti().add_call(13, at + 5'000, at + 6'000, thread());
    cupti().add_copy(13, at + 65'000, at + 85'000, 4096);
    cupti().add_overhead(at + 7'000, at + 107'000, thread());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const opdyno::Trace trace = recorder.stop();
  const Report events = trace.report(OPD_TRACE_EVENTS);
  EXPECT_EQ(works_of(events), (std::vector<std::string>{"CUPTI Buffer Flush on cuda:0, overhead for 100 us",
                                                        "Memcpy DtoH on cuda:0, default stream for 20 us, 4096 bytes",
                                                        "Memset on cuda:0, default stream for 5 us, 256 bytes",
                                                        "ampere_sgemm on cuda:0, stream 13 for 50 us"}));
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row) {
    const std::string name = text_value(call_value(events, row, "Name"));
    if (name == "step") {
      EXPECT_NEAR(number_of(call_value(events, row, "Device Duration (us)")), 75, 0.1)
          << "of what its thread gave to the device, without overhead";
    }
    if (name == "ampere_sgemm") {
      EXPECT_EQ(text_value(
                    call_value(events, static_cast<size_t>(number_of(call_value(events, row, "Launched In"))), "Name")),
                "step");
      EXPECT_NEAR(number_of(call_value(events, row, "Launch Gap (us)")), 8, 0.1);
    }
  }
  EXPECT_EQ(text_value(configuration_value(events, "Device clock: cuda0")).rfind("cuptiGetTimestamp, error ", 0), 0u);
  EXPECT_GT(number_of(configuration_value(events, "Device clock error: cuda0 (us)")), 0);
  const std::string chrome = trace.chrome(), perfetto = trace.write(OPD_TRACE_PERFETTO);
  for (const char *part :
       {R"("cat":"kernel","name":"ampere_sgemm")", R"("cat":"gpu_memset","name":"Memset")",
        R"("cat":"gpu_memcpy","name":"Memcpy DtoH")", R"("cat":"overhead","name":"CUPTI Buffer Flush")"})
    EXPECT_NE(chrome.find(part), std::string::npos) << part << "\n" << chrome;
  EXPECT_NE(perfetto.find("cuda:0, overhead"), std::string::npos);
  const Report averages = trace.averages();
  for (size_t row = 0; row < averages.count(OPD_REPORT_CALLS); ++row)
    EXPECT_NE(text_value(call_value(averages, row, "Name")), "CUPTI Buffer Flush");
}

TEST_F(ReportedActivity, HasTheRunsOfWork) {
  const Vm vm = vm_on(kDevice, kernels_or_none("reported"));
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  vm.call("main", x);
  const size_t before = cupti().pushed_runs().size();
  EXPECT_EQ(before, 0u) << "nobody has asked so far";
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  Recording::log();
  vm.call("main", x);
  const std::vector<uint64_t> pushed = cupti().pushed_runs();
  ASSERT_EQ(pushed.size(), before + 2) << "two kernels";
  EXPECT_EQ(pushed[before], pushed[before + 1]);
  const uint64_t at = cupti().now() - 10'000;
  cupti().add_run(21, pushed[before]);
  cupti().add_call(21, at, at + 1'000, thread());
  cupti().add_kernel("scale", 21, at + 2'000, at + 7'000);
  Recording::log();
  const opdyno::Trace trace = recorder.stop();
  const std::string log = Recording::log();
  EXPECT_EQ(log.find("cuEvent"), std::string::npos) << "CUPTI tells the times\n" << log;
  EXPECT_NE(log.find("cuCtxSynchronize"), std::string::npos) << "records of work that has not ended are not reported";
  vm.call("main", x);
  EXPECT_EQ(cupti().pushed_runs().size(), before + 2) << "nobody asks any more";
  const std::string chrome = trace.chrome();
  const size_t kernel = chrome.find(R"("cat":"kernel","name":"scale")");
  ASSERT_NE(kernel, std::string::npos) << chrome;
  EXPECT_NE(chrome.substr(kernel, chrome.find('\n', kernel) - kernel).find(R"("Run":0)"), std::string::npos) << chrome;
}

// In whatever order the buffers come, also if a call is not reported at all.
TEST_F(ReportedActivity, FindsCallsInOtherBuffers) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  const uint64_t at = cupti().now();
  cupti().add_kernel("early", 31, at + 5'000, at + 8'000);
  cupti().add_kernel("alone", 32, at + 9'000, at + 11'000);
  cupti().deliver();
  std::thread([] { cupti().deliver(); }).join();
  cupti().add_call(31, at, at + 1'000, thread());
  cupti().deliver();
  const Report events = recorder.stop().report(OPD_TRACE_EVENTS);
  EXPECT_EQ(works_of(events), (std::vector<std::string>{"alone on cuda:0, default stream for 2 us",
                                                        "early on cuda:0, default stream for 3 us"}));
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row)
    if (text_value(call_value(events, row, "Name")) == "early") {
      EXPECT_EQ(number_of(call_value(events, row, "Launch Thread ID")), thread());
    }
}

TEST_F(ReportedActivity, CountsInvalidRecordsAsDropped) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  const uint64_t at = cupti().now();
  cupti().add_unknown();                             // 1
  cupti().add_kernel("unmeasured", 41, 0, 0);        // 2
  cupti().add_kernel("backwards", 42, at + 10, at);  // 3
  cupti().add_kernel("good", 43, at, at + 1'000);
  cupti().add_kernel("short", 44, at + 2'000, at + 2'000);
  cupti().add_unknown();                                             // 4
  cupti().add_kernel("nowhere", 45, at, at + 1'000, 7, 0x80000000);  // 5
  cupti().dropped = 5;                                               // 10
  const Report events = recorder.stop().report(OPD_TRACE_EVENTS);
  EXPECT_EQ(works_of(events), (std::vector<std::string>{"good on cuda:0, default stream for 1 us",
                                                        "short on cuda:0, default stream for 0 us"}));
  EXPECT_EQ(number_of(configuration_value(events, "Dropped calls")), 10);
  EXPECT_GT(number_of(configuration_value(events, "Device clock error: cuda0 (us)")), 0);
}

TEST_F(ReportedActivity, NamesKnownKindsOfOverhead) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  const uint64_t at = cupti().now();
  uint64_t us = 0;
  const auto add = [&](uint32_t kind) { ++us, cupti().add_overhead(at, at + us * 1'000, thread(), kind); };
  for (const uint32_t kind : {0u, 1u, 1u << 16 | 1u, 8u << 16, 9u << 16, 1u << 31}) add(kind);
  cupti().add_kernel("work", 91, at, at + 1'000);
  EXPECT_EQ(works_of(recorder.stop().report(OPD_TRACE_EVENTS)),
            (std::vector<std::string>{
                "Driver Compiler on cuda:0, overhead for 2 us", "UVM Activity Init on cuda:0, overhead for 4 us",
                "Unknown Overhead on cuda:0, overhead for 1 us", "Unknown Overhead on cuda:0, overhead for 3 us",
                "Unknown Overhead on cuda:0, overhead for 5 us", "Unknown Overhead on cuda:0, overhead for 6 us",
                "work on cuda:0, default stream for 1 us"}));
}

// The thread that launched each piece of work, by its name; 0: it is not known.
std::map<std::string, double> launchers_of(const Report &events) {
  std::map<std::string, double> threads;
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row) {
    if (text_value(call_value(events, row, "Kind")) != "device") continue;
    const Value thread = call_value(events, row, "Launch Thread ID");
    threads[text_value(call_value(events, row, "Name"))] = thread.type() == OPD_NONE ? 0 : number_of(thread);
  }
  return threads;
}

// Most calls give no work, so calls before the last 65536 or more are forgotten.
TEST_F(ReportedActivity, RemembersManyCalls) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  const uint64_t at = cupti().now();
  cupti().add_call(1, at, at + 100, thread());
  for (uint32_t number = 2; number <= 1 + 65'536; ++number) {
    cupti().add_call(number, at + 200, at + 300, thread() + 1);
    if (number % 2048 == 0) cupti().deliver();
  }
  cupti().add_kernel("first", 1, at + 1'000, at + 2'000);
  cupti().add_kernel("last", 1 + 65'536, at + 3'000, at + 4'000);
  const std::map<std::string, double> expected = {{"first", thread()}, {"last", thread() + 1}};
  EXPECT_EQ(launchers_of(recorder.stop().report(OPD_TRACE_EVENTS)), expected);
}

TEST_F(ReportedActivity, IgnoresCallsOfEarlierRecordings) {
  const opdyno::Profiler first = profiler(), second = profiler();
  first.start();
  uint64_t at = cupti().now();
  cupti().add_call(71, at, at + 100, thread());
  cupti().add_kernel("known", 71, at + 1'000, at + 2'000);
  EXPECT_EQ(launchers_of(first.stop().report(OPD_TRACE_EVENTS))["known"], thread());
  second.start();
  at = cupti().now();
  cupti().add_kernel("unknown", 71, at, at + 1'000);
  EXPECT_NE(launchers_of(second.stop().report(OPD_TRACE_EVENTS))["unknown"], thread());
}

TEST_F(ReportedActivity, IsSharedByProfilers) {
  const opdyno::Profiler first = profiler(), second = profiler(), plain = profiler(1);
  first.start();
  second.start();
  plain.start();
  uint64_t at = cupti().now();
  cupti().add_kernel("both", 51, at, at + 1'000);
  EXPECT_EQ(works_of(first.stop().report(OPD_TRACE_EVENTS)).size(), 1u);
  EXPECT_EQ(cupti().num_enabled(), 8u) << "the second one goes on";
  at = cupti().now();
  cupti().add_kernel("later", 52, at, at + 1'000);
  EXPECT_EQ(works_of(second.stop().report(OPD_TRACE_EVENTS)).size(), 2u);
  EXPECT_EQ(works_of(plain.stop().report(OPD_TRACE_EVENTS)).size(), 2u) << "which would have no events of its own then";
}

TEST_F(ReportedActivity, IsInSnapshots) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  const uint64_t at = cupti().now();
  cupti().add_call(61, at, at + 100, thread());
  cupti().add_kernel("seen", 61, at, at + 1'000);
  EXPECT_EQ(works_of(recorder.snapshot().report(OPD_TRACE_EVENTS)).size(), 1u);
  EXPECT_EQ(works_of(recorder.stop().report(OPD_TRACE_EVENTS)).size(), 1u);
}

TEST_F(ReportedActivity, IsRefusedWithTheReason) {
  cupti().refused_kind = 10;
  const opdyno::Profiler recorder = profiler();
  expect_throws([&] { recorder.start(); }, OPD_UNSUPPORTED,
                "activity of CUDA devices is not reported: cuptiActivityEnable returned "
                "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)");
  EXPECT_EQ(cupti().num_enabled(), 0u) << "nor anything else";
  cupti().refused_kind = 0;
  recorder.start();
  recorder.stop();
}
