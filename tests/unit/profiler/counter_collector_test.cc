// What becomes of counters' numbers: wraps, resets, estimates, threads that join; energy from files that the test
// writes.
#include "profiler/counter_collector.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "device/cpu/thread_pool.h"
#include "profiler/collector_run.h"

namespace opd {
namespace {

constexpr DLDevice kCpu{kDLCPU, 0};

std::map<std::string, int64_t> counts_of(const MetricList &rows) {
  std::map<std::string, int64_t> counts;
  for (const MetricList::Item &item : rows.items()) counts[rows.name_of(item)] = item.metric.count();
  return counts;
}

// Counters that read what the test says.
struct Script {
  uint64_t value = 0;
  bool is_estimated = false, fails = false;
};
class Scripted final : public CounterCollector {
 public:
  Scripted(Script &script, uint64_t range) : CounterCollector("scripted", true), script_(script) {
    Counter counter{"ticks"};
    counter.of = Counter::Of::kProcess;
    counter.range = range;
    add_counter(counter);
  }

 private:
  struct Counters final : CounterReader {
    explicit Counters(Script &s) : script(s) {}
    void read(uint64_t *values) override {
      if (script.fails) fail(OPD_UNSUPPORTED, "gone");
      values[0] = script.value;
    }
    bool is_estimated(size_t) const override { return script.is_estimated; }
    Script &script;
  };
  std::unique_ptr<CounterReader> open_thread() override { return nullptr; }
  std::unique_ptr<CounterReader> open_rest() override { return std::make_unique<Counters>(script_); }
  Script &script_;
};

std::map<std::string, int64_t> measure(Collector &collector, Script &script, uint64_t from, uint64_t to) {
  MetricList rows;
  script.value = from;
  void *state = collector.start(kCpu);
  script.value = to;
  collector.stop(state, rows);
  return counts_of(rows);
}

using Counts = std::map<std::string, int64_t>;

TEST(CounterCollector, CountsOverTheEndOfACounter) {
  Script script;
  const auto wide = make_object<Scripted>(script, 0), narrow = make_object<Scripted>(script, 1000);
  wide->init({});
  narrow->init({});
  EXPECT_EQ(measure(*wide, script, 5, 12), (Counts{{"ticks", 7}}));
  EXPECT_EQ(measure(*wide, script, UINT64_MAX - 2, 4), (Counts{{"ticks", 7}}));
  EXPECT_EQ(measure(*narrow, script, 990, 15), (Counts{{"ticks", 25}}));
  EXPECT_EQ(wide->note() + narrow->note(), "");
}

TEST(CounterCollector, LeavesOutACounterThatFell) {
  Script script;
  const auto collector = make_object<Scripted>(script, 0);
  collector->init({});
  EXPECT_EQ(measure(*collector, script, 100, 50), Counts());
  EXPECT_NE(collector->note().find("ticks: left out where the counter fell"), std::string::npos) << collector->note();
}

TEST(CounterCollector, NotesEstimatedCounts) {
  Script script;
  script.is_estimated = true;
  const auto collector = make_object<Scripted>(script, 0);
  collector->init({});
  EXPECT_EQ(measure(*collector, script, 1, 2), (Counts{{"ticks", 1}}));
  collector->finish();
  EXPECT_NE(collector->note().find("ticks: counted part of the time and scaled"), std::string::npos);
}

TEST(CounterCollector, NestsAndIgnoresOtherDevices) {
  Script script;
  const auto collector = make_object<Scripted>(script, 0);
  collector->init({});
  EXPECT_EQ(collector->start({kDLCUDA, 0}), nullptr);
  MetricList outer, inner;
  void *first = collector->start(kCpu);
  script.value += 1;
  void *second = collector->start({kDLCPU, 3});
  script.value += 10;
  collector->stop(second, inner);
  script.value += 100;
  collector->stop(first, outer);
  EXPECT_EQ(counts_of(inner), (Counts{{"ticks", 10}}));
  EXPECT_EQ(counts_of(outer), (Counts{{"ticks", 111}}));
}

// Counters of one device each, with units and marks of their own.
class Several final : public CounterCollector {
 public:
  Several() : CounterCollector("several", true) {
    const auto add = [&](const char *name, opd_metric_kind kind, double scale, DLDevice device, Counter::Of of) {
      Counter counter{name, kind, scale};
      counter.device = device, counter.of = of;
      add_counter(counter);
    };
    add("first", OPD_METRIC_DURATION, 1e-3, {kDLCPU, 1}, Counter::Of::kProcess);
    add("second", OPD_METRIC_COUNT, 1, {kDLCPU, -1}, Counter::Of::kCall);
    add("third", OPD_METRIC_RATIO, 0.5, {kDLCUDA, -1}, Counter::Of::kProcess);
    add_note("one note");
    add_note("another note");
  }
  std::map<std::string, double> count(DLDevice device, const std::array<uint64_t, 3> &by) {
    MetricList rows;
    void *state = start(device);
    for (size_t i = 0; i < by.size(); ++i) values_[i] += by[i];
    if (state) stop(state, rows);
    std::map<std::string, double> counted;
    for (const MetricList::Item &item : rows.items())
      counted[rows.name_of(item)] =
          item.metric.is_integer() ? static_cast<double>(item.metric.count()) : item.metric.number();
    return counted;
  }

 private:
  struct Counters final : CounterReader {
    explicit Counters(const std::array<uint64_t, 3> &of) : from(of) {}
    void read(uint64_t *values) override { std::copy(from.begin(), from.end(), values); }
    bool is_estimated(size_t place) const override { return place != 1; }
    const std::array<uint64_t, 3> &from;
  };
  std::unique_ptr<CounterReader> open_thread() override { return nullptr; }
  std::unique_ptr<CounterReader> open_rest() override { return std::make_unique<Counters>(values_); }
  std::array<uint64_t, 3> values_{1000, 1000, 1000};
};

TEST(CounterCollector, GivesEachDeviceItsCountersInTheirUnits) {
  const auto collector = make_object<Several>();
  collector->init({});
  using Counted = std::map<std::string, double>;
  EXPECT_EQ(collector->count({kDLCPU, 1}, {2500, 7, 9}), (Counted{{"first", 2.5}, {"second", 7}}));
  EXPECT_EQ(collector->count({kDLCPU, 0}, {2500, 8, 9}), (Counted{{"second", 8}}));
  EXPECT_EQ(collector->count({kDLCUDA, 5}, {2500, 8, 9}), (Counted{{"third", 4.5}}));
  EXPECT_EQ(collector->count({kDLMetal, 0}, {1, 1, 1}), Counted());
}

TEST(CounterCollector, NamesTheCountersInItsNotes) {
  const auto collector = make_object<Several>();
  EXPECT_EQ(collector->shared(), "first, third: of the whole process");
  collector->init({});
  EXPECT_EQ(collector->note(), "one note; another note");
  collector->count({kDLCPU, 1}, {static_cast<uint64_t>(-1), static_cast<uint64_t>(-2), 0});
  const std::string fell = "first, second: left out where the counter fell, as one that is reset does";
  EXPECT_EQ(collector->note(), "one note; another note; " + fell);
  collector->finish();
  EXPECT_EQ(collector->note(),
            "one note; another note; first, third: counted part of the time and scaled, since the "
            "processor has too few counters for all; " +
                fell);
  collector->init({});
  EXPECT_EQ(collector->note(), "one note; another note")
      << "what one recording could not count says nothing of the next";
}

TEST(CounterCollector, FailsIfACounterCanNoLongerBeRead) {
  Script script;
  const Ref<Collector> collectors[] = {make_object<Scripted>(script, 0)};
  CollectorSet set(collectors, {&kCpu, 1});
  CollectorRun &run = set.of_thread(1);
  EventItems items;
  run.begin_call(kCpu);
  script.fails = true;
  run.end_call(UINT64_MAX, items);
  run.begin_call(kCpu);  // nothing is started any more
  run.end_call(UINT64_MAX, items);
  ASSERT_TRUE(set.first_error());
  EXPECT_EQ(set.first_error()->message, "gone");
  EXPECT_TRUE(run.metrics().items().empty());
  EXPECT_TRUE(items.empty());
}

int launch(int32_t tasks, const std::function<void(int)> &body) {
  const auto meet = [](int id, ParallelGroup *group, void *data) {
    (*static_cast<const std::function<void(int)> *>(data))(id);
    return parallel_barrier(id, group);
  };
  return parallel_launch(meet, const_cast<std::function<void(int)> *>(&body), tasks);
}

// A counter of each thread, which the test raises.
thread_local uint64_t own_ticks = 0;
class OfThreads final : public CounterCollector {
 public:
  explicit OfThreads(bool per_thread) : CounterCollector("threads", per_thread) { add_counter({"ticks"}); }
  std::atomic<bool> refuses_workers{false}, fails_on_workers{false};
  std::atomic<int> opened{0};

 private:
  struct Reader final : CounterReader {
    explicit Reader(OfThreads &o) : owner(o) {}
    void read(uint64_t *values) override {
      if (owner.fails_on_workers && !owner.is_maker()) fail(OPD_UNSUPPORTED, "gone");
      values[0] = own_ticks;
    }
    OfThreads &owner;
  };
  bool is_maker() const { return std::this_thread::get_id() == maker_; }
  std::unique_ptr<CounterReader> open_thread() override {
    ++opened;
    if (refuses_workers && !is_maker()) fail(OPD_UNSUPPORTED, "no counters here");
    return std::make_unique<Reader>(*this);
  }
  const std::thread::id maker_ = std::this_thread::get_id();
};
struct ThreeThreads {
  ThreeThreads() { set_thread_count(3); }
  ~ThreeThreads() { set_thread_count(0); }
};
int raise_ticks() {
  return launch(3, [](int id) { own_ticks += 10 * (static_cast<uint64_t>(id) + 1); });
}

// The thread itself counts 5 + 10, its workers 20 and 30.
TEST(CounterCollector, AddsTheCountsOfWorkersInTasksOfTheCall) {
  const ThreeThreads three;
  for (const bool per_thread : {false, true}) {
    const auto collector = make_object<OfThreads>(per_thread);
    const auto expected = [&](int64_t sum, int64_t least, int64_t most) {
      Counts counts{{"ticks", sum}};
      if (per_thread) counts["ticks (least of threads)"] = least, counts["ticks (most of threads)"] = most;
      return counts;
    };
    for (int again = 0; again < 3; ++again) {
      collector->init({});
      MetricList outer, inner;
      void *const first = collector->start(kCpu);
      own_ticks += 5;
      EXPECT_EQ(raise_ticks(), 0);
      void *const second = collector->start(kCpu);
      EXPECT_EQ(raise_ticks(), 0);
      collector->stop(second, inner);
      EXPECT_EQ(counts_of(inner), expected(60, 10, 30));
      EXPECT_EQ(launch(3, [](int id) { own_ticks += id ? 0 : 1; }), 0);
      collector->stop(first, outer);
      EXPECT_EQ(counts_of(outer), expected(126, 26, 60));
      EXPECT_EQ(raise_ticks(), 0);
      collector->finish();
      EXPECT_EQ(collector->note(), "");
    }
    EXPECT_EQ(collector->shared(), "");
  }
}

TEST(CounterCollector, OpensNoCountersForWorkersAfterItsEnd) {
  const ThreeThreads three;
  const auto collector = make_object<OfThreads>(false);
  collector->init({});
  EXPECT_EQ(collector->opened, 3) << "this thread and two workers";
  collector->finish();
  EXPECT_EQ(launch(40, [](int) {}), 0);
  EXPECT_EQ(collector->opened, 3);
}

TEST(CounterCollector, SaysThatItMissesWorkers) {
  const ThreeThreads three;
  const auto measured = [](OfThreads &collector, const std::function<void(int)> &body) {
    MetricList rows;
    void *const state = collector.start(kCpu);
    EXPECT_EQ(launch(3, body), 0);
    collector.stop(state, rows);
    collector.finish();
    return counts_of(rows);
  };
  const auto raise = [](int id) { own_ticks += 10 * (static_cast<uint64_t>(id) + 1); };
  const auto without = make_object<OfThreads>(false);
  without->refuses_workers = true;
  without->init({});
  EXPECT_EQ(measured(*without, raise), (Counts{{"ticks", 10}}));
  EXPECT_EQ(without->note(), "not all worker threads are counted: no counters here");
  const auto failing = make_object<OfThreads>(false);
  failing->init({});
  failing->fails_on_workers = true;
  EXPECT_EQ(measured(*failing, raise), (Counts{{"ticks", 10}}));
  EXPECT_EQ(failing->note(), "not all worker threads are counted: a worker's counters can no longer be read");
  failing->fails_on_workers = false;
  failing->init({});
  EXPECT_EQ(failing->note(), "");
  std::atomic<int> begun{0};
  const auto fail_once_all_have_begun = [&](int id) {
    raise(id);
    for (++begun; begun < 3;) std::this_thread::yield();
    failing->fails_on_workers = true;
  };
  EXPECT_EQ(measured(*failing, fail_once_all_have_begun), (Counts{{"ticks", 10}}));
  EXPECT_EQ(failing->note(), "not all worker threads are counted: gone");
}

int free_file_number() {
  const int number = dup(0);
  close(number);
  return number;
}

TEST(PerfCollector, ClosesItsFiles) {
  const int before = free_file_number();
  const std::vector<std::string> names = perf_events();
  EXPECT_EQ(free_file_number(), before);
  CounterOptions options;
  options.best_effort = true;
  for (const char *name : {"cycles", "task-clock", "page-faults"}) options.events.push_back({name, {kDLCPU, -1}});
  {
    const auto collector = make_perf_collector(options);
    EXPECT_EQ(free_file_number(), before);
    collector->init({});
    MetricList rows;
    if (void *const state = collector->start(kCpu)) collector->stop(state, rows);
    const bool has_all = std::count(names.begin(), names.end(), "cycles");
    EXPECT_EQ(collector->note().empty(), has_all || names.empty()) << collector->note();
    for (const MetricList::Item &item : rows.items())
      EXPECT_EQ(std::count(names.begin(), names.end(), rows.name_of(item)), 1) << rows.name_of(item);
    collector->finish();
  }
  EXPECT_EQ(free_file_number(), before);
}

TEST(PerfHints, NameARemedy) {
  const auto says = [](int error, std::string_view part) { return perf_hint(error).find(part) != std::string::npos; };
  for (const int error : {EACCES, EPERM}) {
    EXPECT_TRUE(says(error, "it is forbidden: ")) << perf_hint(error);
    EXPECT_TRUE(says(error, paranoia_text())) << perf_hint(error);
  }
  for (const int error : {ENOENT, ENODEV, EOPNOTSUPP})
    EXPECT_TRUE(says(error, "this machine has no such counter")) << perf_hint(error);
  EXPECT_TRUE(says(ENOSYS, "the kernel was built without performance events"));
  EXPECT_TRUE(says(EMFILE, "ulimit -n"));
  EXPECT_TRUE(says(EINVAL, "count fewer at a time"));
  EXPECT_EQ(perf_hint(EIO), std::strerror(EIO));
  EXPECT_NE(paranoia_text().find("perf_event_paranoid"), std::string::npos);
}

// A directory as the kernel's powercap interface has it.
struct Powercap {
  std::filesystem::path directory = std::filesystem::temp_directory_path() / concat("opdyno-powercap-", getpid());
  ~Powercap() { std::filesystem::remove_all(directory); }
  void write(const std::string &domain, const std::string &file, const std::string &text) {
    std::filesystem::create_directories(directory / domain);
    std::ofstream(directory / domain / file) << text << "\n";
  }
};

TEST(EnergyCollector, ReadsThePackagesOverTheEndOfTheirCounters) {
  Powercap powercap;
  for (const char *package : {"0", "1"}) {
    const std::string domain = concat("intel-rapl:", package);
    powercap.write(domain, "name", concat("package-", package));
    powercap.write(domain, "energy_uj", "900");
    powercap.write(domain, "max_energy_range_uj", "1000");
  }
  const int before = free_file_number();
  const auto collector = make_energy_collector(powercap.directory);
  EXPECT_EQ(free_file_number(), before);
  collector->init({});
  void *state = collector->start(kCpu);
  powercap.write("intel-rapl:0", "energy_uj", "950");
  powercap.write("intel-rapl:1", "energy_uj", "20");
  MetricList rows;
  collector->stop(state, rows);
  EXPECT_EQ(counts_of(rows), (Counts{{"Energy of package-0 (uJ)", 50}, {"Energy of package-1 (uJ)", 120}}));
  collector->finish();
  EXPECT_EQ(free_file_number(), before);
}

TEST(EnergyCollector, SaysWhyThereIsNone) {
  Powercap powercap;
  const auto message = [&] {
    try {
      make_energy_collector(powercap.directory);
    } catch (const Exception &e) { return e.error()->message; }
    return std::string();
  };
  EXPECT_NE(message().find("has no intel-rapl counters"), std::string::npos) << message();
  powercap.write("intel-rapl:0", "name", "package-0");
  EXPECT_NE(message().find("energy_uj may not be read"), std::string::npos) << message();
}

TEST(EnergyCollector, ReadsPackagesOnlyAndLeavesOutUnreadableOnes) {
  Powercap powercap;
  for (const char *package : {"0", "1", "2", "0:0", "4"}) {
    const std::string domain = concat("intel-rapl:", package);
    powercap.write(domain, "name", concat("package-", package));
    if (*package != '1') powercap.write(domain, "energy_uj", "5");
    powercap.write(domain, "max_energy_range_uj", "1000");
  }
  const auto collector = make_energy_collector(powercap.directory);
  EXPECT_EQ(collector->shared(), "of the whole processor");
  collector->init({});
  MetricList rows;
  collector->stop(collector->start(kCpu), rows);
  EXPECT_EQ(counts_of(rows), (Counts{{"Energy of package-0 (uJ)", 0}, {"Energy of package-2 (uJ)", 0}}))
      << "numbers are without a gap";
  void *state = collector->start(kCpu);
  std::ofstream(powercap.directory / "intel-rapl:2" / "energy_uj").close();  // empty from now on
  try {
    collector->stop(state, rows);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_IO);
    EXPECT_EQ(e.error()->message, "the energy counter can no longer be read");
  }
}

class Counting final : public WorkerObserver {
 public:
  void joined() noexcept override { ++joins; }
  std::atomic<int> joins{0};
};

int launch(int32_t tasks) {
  const auto meet = [](int id, ParallelGroup *group, void *) { return parallel_barrier(id, group); };
  return parallel_launch(meet, nullptr, tasks);
}

TEST(WorkerObserver, IsJoinedOnceByEachWorkerThatGetsWork) {
  ASSERT_EQ(launch(4), 0);  // these workers are there before
  Counting watch;
  add_worker_observer(watch);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(launch(4), 0);
  EXPECT_EQ(watch.joins, 3);
  ASSERT_EQ(launch(9), 0);  // five more, some of them new
  EXPECT_EQ(watch.joins, 8);
  remove_worker_observer(watch);
  ASSERT_EQ(launch(20), 0);
  EXPECT_EQ(watch.joins, 8);
  Counting later;
  add_worker_observer(later);
  ASSERT_EQ(launch(20), 0);
  EXPECT_EQ(later.joins, 19);
  EXPECT_EQ(watch.joins, 8);
  remove_worker_observer(later);
}

TEST(WorkerObserver, GathersIdleWorkersAtOnce) {
  set_thread_count(3);
  Counting watch;
  add_worker_observer(watch);
  gather_workers();
  EXPECT_EQ(watch.joins, 2);
  remove_worker_observer(watch);
  set_thread_count(0);
}

}  // namespace
}  // namespace opd
