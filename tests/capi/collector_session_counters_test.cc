// Counters of sessions: calls on several threads share one pool of workers, and each gets what its own tasks did.
#include <barrier>
#include <thread>

#include "support/counted_work.h"

using namespace opdyno_test;

namespace {

constexpr int kCallers = 3;

// Calls that begin together on `kCallers` threads; the numbers of pages tell them apart.
class SessionCounters : public testing::TestWithParam<int64_t> {
 protected:
  SessionCounters() {
    define("test.session.meet", [this](const opd_value *, int32_t, opd_value *) { meeting.arrive_and_wait(); });
    for (int i = 0; i < kCallers; ++i) work[i] = {pages(i), GetParam(), &counters[i]};
  }
  static int64_t pages(int caller) { return 50 + 70 * caller; }

  Vm meeting_program() {
    return vm_of(Executable::assemble(R"(
.func main(x, p) {
  call test.session.meet(%x)
  call work(%x, %p)
  call test.session.meet(%x)
  ret %void
})"));
  }
  void call_together(const Vm &vm, int times) {
    std::vector<std::thread> callers;
    for (int i = 0; i < kCallers; ++i)
      callers.emplace_back([&, i] {
        const Tensor x = floats(std::vector<float>(static_cast<size_t>(i + 1)));  // which tells the rows apart
        for (int call = 0; call < times; ++call) vm.call("main", x, opd_pointer(&work[i]));
      });
    for (std::thread &caller : callers) caller.join();
  }

  // The rows of `work` by the thread that called it, in order.
  std::map<std::string, std::vector<size_t>> rows_of_work(const RunReport &report) {
    std::map<std::string, std::vector<size_t>> rows;
    for (size_t row = 0; row < report.rows(); ++row)
      if (report.text(row, "Name") == "work") rows[report.text(row, "Argument Shapes")].push_back(row);
    return rows;
  }

  void expect_own_pages(const Collector &collector, const std::string &event);

  const Threads threads;
  std::barrier<> meeting{kCallers};
  long long counters[kCallers] = {};
  Work work[kCallers];
};

void SessionCounters::expect_own_pages(const Collector &collector, const std::string &event) {
  constexpr int kWarm = 3, kCalls = 20;
  const Vm vm = meeting_program();
  call_together(vm, kWarm);  // so that the workers are there
  start_profile(vm, {collector});
  call_together(vm, kWarm);  // and the code of counting in memory
  stop_profile(vm);
  for (long long &counter : counters) counter = 0;
  start_profile(vm, {collector});
  call_together(vm, kCalls);
  const RunReport report = stop_profile(vm);
  for (const char *name : {"perf", "papi"})
    EXPECT_FALSE(report.has_configuration(std::string("Collector error: ") + name));
  const auto rows = rows_of_work(report);
  ASSERT_EQ(rows.size(), size_t{kCallers});
  for (int caller = 0; caller < kCallers; ++caller) {
    const auto &mine = rows.at("float32[" + std::to_string(caller + 1) + "]");
    ASSERT_EQ(mine.size(), size_t{kCalls});
    int64_t sum = 0;
    for (size_t i = 1; i < mine.size(); ++i) {  // the first call of a new thread has page faults of its own
      const int64_t counted = report.count(mine[i], event.c_str());
      if (GetParam() > 0) expect_pages(counted, GetParam() * pages(caller));
      EXPECT_GE(counted, pages(caller));
      sum += counted;
    }
    const int64_t first = report.count(mine[0], event.c_str());
    EXPECT_GE(first + sum, counters[caller]) << "with as many tasks as there were idle workers";
    EXPECT_LE(first + sum, most_pages(counters[caller]) + 50 * (1 + GetParam())) << "and nothing of the others";
  }
}

}  // namespace

TEST_P(SessionCounters, CountWorkersForTheirCallByPerf) {
  Collector perf;
  if (const std::string why = refusal(make(OPD_COLLECTOR_PERF, {"page-faults"}, perf, true)); !why.empty())
    GTEST_SKIP() << why;
  expect_own_pages(perf, "page-faults");
}

TEST_P(SessionCounters, CountWorkersForTheirCallByPapi) {
  Collector papi;
  if (const std::string why = refusal(make(OPD_COLLECTOR_PAPI, {"perf::PAGE-FAULTS"}, papi, true)); !why.empty())
    GTEST_SKIP() << why;
  expect_own_pages(papi, "perf::PAGE-FAULTS");
}

// Gangs, whose tasks are as many as they say, and launches that share the pool.
INSTANTIATE_TEST_SUITE_P(Launches, SessionCounters, testing::Values(kThreads, 0),
                         [](const auto &info) { return info.param ? "gang" : "shared"; });

TEST(SessionCountersOfThreads, CountThreadsThatComeAndGo) {
  for (const opd_collector_kind create : {OPD_COLLECTOR_PERF, OPD_COLLECTOR_PAPI}) {
    const bool is_papi = create == OPD_COLLECTOR_PAPI;
    const char *const event = is_papi ? "perf::PAGE-FAULTS" : "page-faults";
    Collector collector;
    if (const std::string why = refusal(make(create, {event}, collector)); !why.empty()) GTEST_SKIP() << why;
    const Vm vm = bytecode();
    start_profile(vm, {collector});
    for (int i = 0; i < 40; ++i)
      std::thread([&] {
        Work work{500, 1, nullptr};
        vm.call("main", floats({1}), opd_pointer(&work));
      }).join();
    const RunReport report = stop_profile(vm);
    EXPECT_FALSE(report.has_configuration(is_papi ? "Collector error: papi" : "Collector error: perf"));
    ASSERT_EQ(report.rows(), 2u * 40);
    for (size_t row = 0; row < report.rows(); ++row) {
      EXPECT_GE(report.count(row, event), 500);
      EXPECT_LE(report.count(row, event), most_pages(500) + 50) << "a few are the thread's own";
    }
  }
}

TEST(SessionNotes, NameTheCollectorsThatAlsoCountOtherCalls) {
  Collector time, memory;
  check(opd_collector_create_builtin(OPD_COLLECTOR_TIME, nullptr, time.out()));
  check(opd_collector_create_builtin(OPD_COLLECTOR_MEMORY, nullptr, memory.out()));
  const Vm vm = bytecode();
  const Tensor x = floats({1});
  Work work{1, 1, nullptr};
  start_profile(vm, {time, memory});
  vm.call("main", x, opd_pointer(&work));
  const RunReport report = stop_profile(vm);
  EXPECT_EQ(report.configured("Collector note: memory"),
            "of the whole device, with what other calls do at the same time");
  EXPECT_FALSE(report.has_configuration("Collector note: time"));
  EXPECT_GE(report.number(0, "Wall time (us)"), report.number(0, "Duration (us)"));
  const MainProfile profile(vm, {time, memory}, std::vector<opd_value>{arg(x), opd_pointer(&work)});
  EXPECT_FALSE(profile.has_configuration("Collector note: memory")) << "one call, whose caller knows what else runs";
}
