// Collectors of whole applications: calls of a VM on several threads at once, sampled or not, while the session begins
// and ends.
#include <atomic>
#include <mutex>
#include <thread>

#include "support/collector_test.h"

using namespace opdyno_test;

namespace {

// Keeps account of every start and stop, of which those of one thread nest.
struct Ledger {
  struct Open {
    std::thread::id thread;
    size_t depth;
  };
  std::string fails_in;  // "init", "start" or "stop"
  std::function<void()> at_start;
  std::mutex guard;
  std::map<std::thread::id, std::vector<Open *>> open;
  int64_t inits = 0, starts = 0, stops = 0, misplaced = 0;
  bool deleted = false;

  opd_error *act(const std::string &what) {
    return what == fails_in ? opd_error_create(OPD_CALL_FAILED, "RuntimeError", ("no " + what).c_str()) : nullptr;
  }
  opd_error *start(void **out_state) {
    if (at_start) at_start();
    std::scoped_lock lock(guard);
    if (opd_error *error = act("start")) return error;
    ++starts;
    auto &mine = open[std::this_thread::get_id()];
    mine.push_back(new Open{std::this_thread::get_id(), mine.size()});
    *out_state = mine.back();
    return nullptr;
  }
  opd_error *stop(Open *state, opd_metrics *metrics) {
    std::scoped_lock lock(guard);
    ++stops;
    auto &mine = open[std::this_thread::get_id()];
    if (mine.empty() || mine.back() != state || state->thread != std::this_thread::get_id()) ++misplaced;
    else mine.pop_back();
    const opd_value one = opd_int(1), depth = opd_int(static_cast<int64_t>(state->depth));
    const std::string thread = std::to_string(std::hash<std::thread::id>{}(state->thread));
    const opd_value text = opd_cstring(thread.c_str());
    delete state;
    check(opd_metrics_set(metrics, "calls", OPD_METRIC_COUNT, &one));
    check(opd_metrics_set(metrics, "depth", OPD_METRIC_COUNT, &depth));
    check(opd_metrics_set(metrics, "by", OPD_METRIC_STRING, &text));
    return act("stop");
  }
  int64_t started() {
    std::scoped_lock lock(guard);
    return starts;
  }
};

Collector collector_of(Ledger &ledger, const char *name = "ledger") {
  opd_collector_table table{};
  table.struct_size = sizeof table;
  table.user_data = &ledger;
  table.init = [](void *self, const DLDevice *, int32_t) {
    ++static_cast<Ledger *>(self)->inits;
    return static_cast<Ledger *>(self)->act("init");
  };
  table.start = [](void *self, DLDevice, void **out_state) { return static_cast<Ledger *>(self)->start(out_state); };
  table.stop = [](void *self, void *state, opd_metrics *metrics) {
    return static_cast<Ledger *>(self)->stop(static_cast<Ledger::Open *>(state), metrics);
  };
  table.deleter = [](void *self) { static_cast<Ledger *>(self)->deleted = true; };
  Collector collector;
  check(opd_collector_create(name, &table, collector.out()));
  return collector;
}

// Three rows a call: the kernel, inner, and the kernel in it.
constexpr int kRows = 3, kStarts = 1 + kRows;
Vm program() {
  define("test.session.kernel", [](const opd_value *, int32_t, opd_value *) {});
  return Vm(Executable::assemble(R"(
.func inner(x) {
  call test.session.kernel(%x)
  ret %x
}
.func main(x) {
  call test.session.kernel(%x)
  %r = call inner(%x)
  ret %r
})")
                .to_module());
}

void call_on_threads(const Vm &vm, int num_threads, int num_calls) {
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i)
    threads.emplace_back([&] {
      const Tensor x = floats({1});
      for (int call = 0; call < num_calls; ++call) vm.call("main", x);
    });
  for (std::thread &thread : threads) thread.join();
}

}  // namespace

TEST(CollectorSession, AsksOnTheThreadOfEachCallAndNestsAsTheCallsDo) {
  constexpr int kThreads = 4, kCalls = 50, kRuns = kThreads * kCalls;
  Ledger ledger;
  const Vm vm = program();
  start_profile(vm, {collector_of(ledger)});
  EXPECT_EQ(ledger.inits, 1) << "before the first call";
  EXPECT_EQ(ledger.starts, 0);
  call_on_threads(vm, kThreads, kCalls);
  const RunReport report = stop_profile(vm);
  EXPECT_EQ(ledger.inits, 1);
  EXPECT_EQ(ledger.starts, kRuns * kStarts);
  EXPECT_EQ(ledger.stops, ledger.starts);
  EXPECT_EQ(ledger.misplaced, 0);
  ASSERT_EQ(report.rows(), static_cast<size_t>(kRuns * kRows));
  std::map<std::string, std::set<std::string>> who;  // measured the rows of a thread
  for (size_t row = 0; row < report.rows(); ++row) {
    who[report.text(row, "Thread")].insert(report.text(row, "by"));
    EXPECT_EQ(report.count(row, "calls"), 1);
    const bool is_inside = report.text(row, "Call Path") == "main/inner";
    EXPECT_EQ(report.count(row, "depth"), is_inside ? 2 : 1) << "the run is 0";
  }
  EXPECT_EQ(who.size(), size_t{kThreads});
  for (const auto &[thread, measured_by] : who) EXPECT_EQ(measured_by.size(), 1u) << thread;
  EXPECT_EQ(report.device("cpu0", "Count"), kRuns);
  EXPECT_EQ(report.device("cpu0", "calls"), kRuns) << "a sum over all threads";
  EXPECT_GT(report.configured_number("Collector cost: ledger (us)"), 0);
  EXPECT_FALSE(report.has_configuration("Collector note: ledger"));
  EXPECT_TRUE(ledger.deleted) << "nothing keeps the collector any more";
}

TEST(CollectorSession, DoesNothingAroundCallsThatAreNotSampled) {
  Ledger ledger;
  const Vm vm = program();
  start_profile(vm, {collector_of(ledger)}, 10);
  for (int i = 0; i < 95; ++i) vm.call("main", floats({1}));
  const RunReport report = stop_profile(vm);
  EXPECT_EQ(ledger.starts, 10 * kStarts);
  EXPECT_EQ(ledger.stops, ledger.starts);
  EXPECT_EQ(report.device("cpu0", "calls"), 10);
  EXPECT_EQ(report.rows(), size_t{10 * kRows});
}

TEST(CollectorSession, GoesOnWithoutACollectorThatFailsOnAnyThread) {
  for (const char *place : {"init", "start", "stop"}) {
    Ledger bad, good;
    bad.fails_in = place;
    const Vm vm = program();
    start_profile(vm, {collector_of(bad, "bad"), collector_of(good, "good")});
    call_on_threads(vm, 3, 20);
    const RunReport report = stop_profile(vm);
    EXPECT_EQ(report.configured("Collector error: bad"), std::string("no ") + place);
    EXPECT_FALSE(report.has_configuration("Collector error: good"));
    EXPECT_EQ(bad.stops, bad.starts) << place;
    EXPECT_EQ(bad.misplaced, 0) << place;
    EXPECT_LE(bad.starts, 3 * kStarts) << "of each thread at most what was under way";
    EXPECT_EQ(good.starts, 3 * 20 * kStarts) << place;
    EXPECT_EQ(good.stops, good.starts) << place;
    EXPECT_EQ(report.device("cpu0", "calls"), 3 * 20) << place;
  }
}

TEST(CollectorSession, EndsAfterAllStartedCollectorsHaveStopped) {
  const Vm vm = program();
  std::atomic<bool> is_over{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      while (!is_over) vm.call("main", floats({1}));
    });
  for (int round = 0; round < 20; ++round) {
    Ledger ledger;
    start_profile(vm, {collector_of(ledger)});
    while (ledger.started() < 10 * kStarts) std::this_thread::yield();
    const RunReport report = stop_profile(vm);
    EXPECT_TRUE(ledger.deleted);
    EXPECT_EQ(ledger.stops, ledger.starts);
    EXPECT_EQ(ledger.misplaced, 0);
    EXPECT_EQ(ledger.starts, report.device("cpu0", "Count") * kStarts) << "whole calls only";
    EXPECT_EQ(report.rows() * kStarts, static_cast<size_t>(ledger.starts * kRows));
  }
  is_over = true;
  for (std::thread &caller : callers) caller.join();
}

TEST(CollectorSession, IgnoresCallsMadeByACollectorAndRefusesItsStop) {
  Ledger ledger;
  const Vm vm = program();
  ledger.at_start = [&] {
    Report none;
    expect_error(opd_vm_profile_stop(vm.get(), none.out(), nullptr), OPD_FAILED_PRECONDITION, "from inside of a call");
    static thread_local int depth = 0;
    if (depth++ == 0) vm.call("main", floats({1}));
    --depth;
  };
  start_profile(vm, {collector_of(ledger)});
  vm.call("main", floats({1}));
  const RunReport report = stop_profile(vm);
  EXPECT_EQ(report.device("cpu0", "calls"), 1);
  EXPECT_EQ(report.device("cpu0", "Count"), 1);
  EXPECT_EQ(report.rows(), static_cast<size_t>(kRows));
  EXPECT_EQ(ledger.starts, kStarts);
  EXPECT_EQ(ledger.stops, kStarts);
}

TEST(CollectorSession, CannotUseACollectorOfAnotherSessionUntilItEnds) {
  Ledger ledger;
  const Vm vm = program(), other = program();
  const Collector collector = collector_of(ledger);
  start_profile(vm, {collector});
  const opd_profile_options options = [] {
    opd_profile_options made;
    opd_profile_options_init(&made);
    return made;
  }();
  expect_error(opd_vm_profile_start(vm.get(), &options), OPD_FAILED_PRECONDITION, "profiled already");
  EXPECT_EQ(ledger.inits, 1) << "a session that cannot be prepares nothing";
  start_profile(other, {collector});
  other.call("main", floats({1}));
  EXPECT_NE(stop_profile(other).configured("Collector error: ledger").find("in use by another run"), std::string::npos);
  EXPECT_EQ(ledger.starts, 0);
  const MainProfile aside(vm, {collector}, floats({1}));
  EXPECT_TRUE(aside.has_configuration("Collector error: ledger"));
  vm.call("main", floats({1}));
  EXPECT_EQ(stop_profile(vm).device("cpu0", "calls"), 3) << "that one, and the two of the profile meanwhile";
  EXPECT_EQ(MainProfile(vm, {collector}, floats({1})).device("cpu0", "calls"), 1);
  EXPECT_EQ(ledger.inits, 2);
}

TEST(CollectorSession, EndsWithItsVm) {
  Ledger ledger;
  {
    const Vm vm = program();
    start_profile(vm, {collector_of(ledger)});
    vm.call("main", floats({1}));
  }
  EXPECT_EQ(ledger.stops, kStarts);
  EXPECT_TRUE(ledger.deleted);
}

// One VM's function calls another VM's, which calls the first one again: runs within runs.
TEST(CollectorSession, NestsOverVmsWithSessionsOfTheirOwn) {
  const auto make = [](const char *callee) {
    return Vm(Executable::assemble(std::string(".func leaf(x) {\n  call test.session.kernel(%x)\n  ret %x\n}\n") +
                                   ".func main(x) {\n  call " + callee + "(%x)\n  ret %x\n}\n")
                  .to_module());
  };
  static const Vm *first = nullptr, *second = nullptr;
  define("test.session.kernel", [](const opd_value *, int32_t, opd_value *) {});
  define("test.session.second", [](const opd_value *args, int32_t, opd_value *) {
    Value ignored;
    check(opd_vm_call(second->get(), "main", args, 1, nullptr, ignored.out()));
  });
  define("test.session.first", [](const opd_value *args, int32_t, opd_value *) {
    Value ignored;
    check(opd_vm_call(first->get(), "leaf", args, 1, nullptr, ignored.out()));
  });
  const Vm a = make("test.session.second"), b = make("test.session.first");
  first = &a, second = &b;
  Ledger of_a, of_b;
  start_profile(a, {collector_of(of_a)});
  start_profile(b, {collector_of(of_b)});
  for (int i = 0; i < 3; ++i) a.call("main", floats({1}));
  const RunReport report = stop_profile(a), other = stop_profile(b);
  EXPECT_EQ(of_a.starts, 3 * (2 + 2)) << "main with its call, leaf with its";
  EXPECT_EQ(of_b.starts, 3 * 2);
  for (const Ledger *ledger : {&of_a, &of_b}) {
    EXPECT_EQ(ledger->stops, ledger->starts);
    EXPECT_EQ(ledger->misplaced, 0);
  }
  ASSERT_EQ(report.rows(), 6u);
  EXPECT_EQ(report.text(0, "Name"), "test.session.kernel");
  EXPECT_EQ(report.count(0, "depth"), 3) << "within main's run and call, and leaf's run";
  EXPECT_EQ(report.count(1, "depth"), 1);
  EXPECT_EQ(report.device("cpu0", "calls"), 6);
  EXPECT_EQ(other.device("cpu0", "calls"), 3);
}

TEST(CollectorSession, StopsCollectorsOfCallsThatAnErrorEnded) {
  Ledger ledger;
  define("test.session.fails", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("inside"); });
  const Vm vm(Executable::assemble(R"(
.func inner(x) {
  call test.session.fails(%x)
  ret %x
}
.func main(x) {
  %r = call inner(%x)
  ret %r
})")
                  .to_module());
  start_profile(vm, {collector_of(ledger)});
  for (int i = 0; i < 5; ++i) expect_throws([&] { vm.call("main", floats({1})); }, OPD_CALL_FAILED, "inside");
  EXPECT_EQ(ledger.stops, 5 * 3) << "the run, inner, the kernel; when the call ends, not only with the session";
  EXPECT_EQ(stop_profile(vm).device("cpu0", "calls"), 5);
  EXPECT_EQ(ledger.starts, 5 * 3);
  EXPECT_EQ(ledger.misplaced, 0);
}
