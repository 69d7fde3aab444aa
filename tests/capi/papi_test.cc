// PAPI's counters, from a library that the test scripts: tests/support/papi.c, which has PAPI's name.
#include <thread>

#include "support/counted_work.h"

using namespace opdyno_test;

extern "C" {
extern long long papi_counts[8];
extern int papi_add_errors[8], papi_start_errors[8], papi_read_error, papi_most_in_a_set, papi_sets, papi_overlaps,
    papi_strangers, papi_thread_errors, papi_turn_error;
}

namespace {

enum Place { kInstructions, kCycles, kLoads, kLoadsOfUser, kMisses, kStores, kReceived, kSent };

// Each call adds 10 instructions, 20 cycles and so on, 10 more of each further event.
Vm counting() {
  define("test.papi.kernel", [](const opd_value *, int32_t, opd_value *) {
    for (int i = 0; i < 8; ++i) papi_counts[i] += 10 * (i + 1);
  });
  return Vm(Executable::assemble(".func main(x) {\n  call test.papi.kernel(%x)\n  ret %void\n}\n").to_module());
}

class Papi : public testing::Test {
 protected:
  void SetUp() override { reset(); }
  void TearDown() override {
    reset();
    EXPECT_EQ(papi_sets, 0) << "each set of events is given back";
  }
  static void reset() {
    std::fill_n(papi_counts, 8, 1000);
    std::fill_n(papi_add_errors, 8, 0);
    std::fill_n(papi_start_errors, 8, 0);
    papi_read_error = papi_thread_errors = papi_turn_error = 0, papi_most_in_a_set = 4;
  }
  const Tensor x = floats({1});
};

// First, while the library has not been initialised.
TEST_F(Papi, IsRefusedIfItCannotCountThreads) {
  papi_thread_errors = -8;
  Collector collector;
  expect_error(make(OPD_COLLECTOR_PAPI, {"perf::LOADS"}, collector), OPD_UNSUPPORTED,
               "PAPI cannot count threads: PAPI's text 08");
  papi_thread_errors = 0;
  EXPECT_EQ(refusal(make(OPD_COLLECTOR_PAPI, {"perf::LOADS"}, collector)), "") << "it is tried again";
}

TEST_F(Papi, CountsTheEventsOfEachComponent) {
  const Vm vm = counting();
  Collector collector;
  ASSERT_EQ(refusal(make(OPD_COLLECTOR_PAPI, {"net:::tx", "perf::STORES", "PAPI_TOT_INS", "net:::rx"}, collector)), "");
  for (int again = 0; again < 2; ++again) {
    const MainProfile profile(vm, {collector}, x, 1, 3);
    ASSERT_EQ(profile.rows(), 3u);
    for (size_t row = 0; row < 3; ++row) {
      EXPECT_EQ(profile.count(row, "PAPI_TOT_INS"), 10);
      EXPECT_EQ(profile.count(row, "perf::STORES"), 60);
      EXPECT_EQ(profile.count(row, "net:::rx"), 70);
      EXPECT_EQ(profile.count(row, "net:::tx"), 80);
    }
    EXPECT_EQ(profile.device("cpu0", "PAPI_TOT_INS"), 30);
    EXPECT_FALSE(profile.has_configuration("Collector note: papi"));
  }
}

TEST_F(Papi, CountsThreadsOnlyWhereTheComponentDoes) {
  const Vm vm = counting();
  Collector collector;
  ASSERT_EQ(refusal(make(OPD_COLLECTOR_PAPI, {"perf::LOADS", "net:::rx"}, collector, true)), "");
  const MainProfile profile(vm, {collector}, x);
  EXPECT_EQ(profile.count(0, "perf::LOADS"), 30);
  EXPECT_EQ(profile.count(0, "perf::LOADS (most of threads)"), 30);
  EXPECT_EQ(profile.columns().count("net:::rx"), 1u);
  EXPECT_EQ(profile.columns().count("net:::rx (most of threads)"), 0u);
}

TEST_F(Papi, LetsEventsTakeTurnsThatDoNotFit) {
  papi_most_in_a_set = 2;
  const Vm vm = counting();
  Collector collector;
  ASSERT_EQ(refusal(make(OPD_COLLECTOR_PAPI, {"PAPI_TOT_INS", "PAPI_TOT_CYC", "perf::LOADS", "net:::rx"}, collector)),
            "");
  const MainProfile profile(vm, {collector}, x);
  EXPECT_EQ(profile.count(0, "PAPI_TOT_INS"), 10);
  EXPECT_EQ(profile.count(0, "perf::LOADS"), 30);
  const std::string note = profile.configured("Collector note: papi");
  EXPECT_NE(note.find("PAPI_TOT_INS, PAPI_TOT_CYC, perf::LOADS: counted part of the time and scaled"),
            std::string::npos)
      << note;
  EXPECT_EQ(note.find("net:::rx"), std::string::npos) << "it fits, into a set of its own: " << note;
}

TEST_F(Papi, SaysWhyEventsCannotTakeTurns) {
  papi_most_in_a_set = 1, papi_turn_error = -8;
  Collector collector;
  expect_error(
      make(OPD_COLLECTOR_PAPI, {"PAPI_TOT_INS", "PAPI_TOT_CYC"}, collector), OPD_UNSUPPORTED,
      "PAPI cannot make a set of events: it cannot be counted together with the others (PAPI: PAPI's text 08)");
}

TEST_F(Papi, ErrorsNameTheReasonWhyAnEventCannotBeCounted) {
  Collector collector;
  const std::vector<const char *> wanted = {"perf::LOADS", "perf::STORES"};
  const std::pair<int, const char *> reasons[] = {
      {-7, "this machine cannot count it (PAPI: PAPI's text 07); virtual machines"},
      {-4, "this machine cannot count it (PAPI: PAPI's text 04); virtual machines"},
      {-15, "it is forbidden (PAPI: PAPI's text 15): /proc/sys/kernel/perf_event_paranoid"},
      {-3, "it is forbidden (PAPI: PAPI's text 03): /proc/sys/kernel/perf_event_paranoid"},
      {-8, "it cannot be counted together with the others (PAPI: PAPI's text 08)"},
      {-23, "it cannot be counted together with the others (PAPI: PAPI's text 23)"},
      {-10, "PAPI counts this thread already; one collector of the component can do so at a time"},
      {-5, "PAPI: PAPI's text 05"}};
  for (int *const errors : {papi_add_errors, papi_start_errors})
    for (const auto &[error, reason] : reasons) {
      errors[kStores] = error;
      const Error refused(make(OPD_COLLECTOR_PAPI, wanted, collector));
      EXPECT_EQ(refused.code(), OPD_UNSUPPORTED);
      EXPECT_EQ(refused.message().find("event perf::STORES cannot be counted: " + std::string(reason)), 0u)
          << refused.message();
      errors[kStores] = 0;
    }
  const Error unknown(make(OPD_COLLECTOR_PAPI, {"perf::NONE"}, collector));
  EXPECT_EQ(unknown.code(), OPD_NOT_FOUND);
  EXPECT_EQ(unknown.message().find("event perf::NONE cannot be counted: PAPI has no such event here (PAPI's text 07)"),
            0u)
      << unknown.message();
  expect_error(make(OPD_COLLECTOR_PAPI, std::vector<const char *>(257, "perf::LOADS"), collector), OPD_INVALID_ARGUMENT,
               "at most 256 events can be counted at a time");
}

TEST_F(Papi, LeavesOutEventsThatCannotBeCountedOnRequest) {
  papi_start_errors[kLoads] = -8;
  const Vm vm = counting();
  Collector collector;
  ASSERT_EQ(refusal(make(OPD_COLLECTOR_PAPI, {"perf::LOADS", "none", "perf::STORES"}, collector, false, true)), "");
  const MainProfile profile(vm, {collector}, x);
  EXPECT_EQ(profile.count(0, "perf::STORES"), 60);
  EXPECT_EQ(profile.columns().count("perf::LOADS"), 0u);
  const std::string note = profile.configured("Collector note: papi");
  EXPECT_EQ(note.find("event perf::LOADS is left out: it cannot be counted together with the others"), 0u) << note;
  EXPECT_NE(note.find("; event none is left out: PAPI has no such event here"), std::string::npos) << note;
}

TEST_F(Papi, CountsTheUsualEventsIfNoneIsNamed) {
  Collector collector;
  const Error refused(make(OPD_COLLECTOR_PAPI, {}, collector));
  EXPECT_EQ(refused.message().find("event perf::CYCLES cannot be counted"), 0u) << refused.message();
}

TEST_F(Papi, ReportsAnErrorIfItsCountersBecomeUnreadable) {
  const Vm vm = counting();
  Collector collector;
  ASSERT_EQ(refusal(make(OPD_COLLECTOR_PAPI, {"perf::LOADS"}, collector)), "");
  papi_read_error = -3;
  const MainProfile profile(vm, {collector}, x);
  EXPECT_EQ(profile.columns().count("perf::LOADS"), 0u);
  EXPECT_EQ(profile.configured("Collector error: papi").find("counters can no longer be read: it is forbidden"), 0u)
      << profile.configured("Collector error: papi");
}

TEST_F(Papi, IsAskedForEventsByOneThreadAtATime) {
  papi_overlaps = papi_strangers = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int k = 0; k < 50; ++k) {
        Collector collector;
        EXPECT_EQ(refusal(make(OPD_COLLECTOR_PAPI, {"net:::tx", "perf::STORES"}, collector)), "");
        Handle<opd_array> events;
        check(opd_collector_list_events(OPD_COLLECTOR_PAPI, events.out()));
      }
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(papi_overlaps, 0);
  EXPECT_EQ(papi_strangers, 0) << "threads that PAPI does not know";
}

TEST_F(Papi, ListsOnlyEventsThatItCanCount) {
  const auto listed = [] {
    Handle<opd_array> events;
    check(opd_collector_list_events(OPD_COLLECTOR_PAPI, events.out()));
    std::string text;
    for (int32_t i = 0; i < opd_array_count(events.get()); ++i) {
      Value name;
      check(opd_array_get(events.get(), i, name.out()));
      text += string_of(name) + " ";
    }
    return text;
  };
  EXPECT_EQ(listed(), "PAPI_TOT_INS PAPI_TOT_CYC perf::LOADS perf::LOADS:MISS perf::STORES net:::rx net:::tx ")
      << "without modifiers, as u=0";
  papi_add_errors[kLoads] = -7, papi_start_errors[kSent] = -15, papi_start_errors[kCycles] = -10;
  EXPECT_EQ(listed(), "PAPI_TOT_INS perf::LOADS:MISS perf::STORES net:::rx ");
}

}  // namespace
