// Dumps of flight recorders: what asks for them, what is in them, and what they must not do to the program.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <regex>
#include <thread>

#include "support/log_messages.h"
#include "support/recording_files.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;

namespace {

struct DumpOptions : opd_profiler_dump_options {
  explicit DumpOptions(const std::string &pattern) : owned(pattern) {
    opd_profiler_dump_options_init(this);
    path = owned.c_str();
  }
  const std::string owned;
};

// Names of the spans of a dump in Chrome's form, by their begins.
std::vector<std::string> spans_in(const std::string &path) {
  const std::string json = bytes_of(path);
  const std::regex span(R"re(\{"ph":"X","cat":"[^"]*","name":"([^"]*)")re");
  std::vector<std::string> names;
  for (std::sregex_iterator found(json.begin(), json.end(), span), end; found != end; ++found)
    names.push_back((*found)[1]);
  return names;
}
std::string reason_of(const std::string &path) {
  const std::string json = bytes_of(path);
  std::smatch found;
  return std::regex_search(json, found, std::regex(R"re("dump_reason":"((?:[^"\\]|\\.)*)")re")) ? found[1].str()
                                                                                                : "none";
}

int num_left_out(const std::string &path) {
  const std::string json = bytes_of(path);
  std::smatch found;
  return std::regex_search(json, found, std::regex(R"re("dumps_left_out":"?(\d+))re")) ? std::stoi(found[1].str()) : 0;
}

bool exists(const std::string &path) { return std::filesystem::exists(path); }

void spend(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// stop() waits for dumps; a test that goes on first does here.
void wait_for(const Profiler &profiler, uint64_t dumps) {
  for (int ms = 0; profiler.dump_count() < dumps; ++ms) {
    ASSERT_LT(ms, 60'000) << "there is no dump";
    spend(1);
  }
}

class Dumps : public testing::Test {
 protected:
  void start(const DumpOptions &options) {
    profiler_.set_dumps(options);
    profiler_.start();
  }

  const ScratchDirectory directory_;
  const std::string pattern_ = directory_.file("dump-%n.json");
  const LogMessages log_;  // complete after stop()
  const Profiler profiler_;
};

TEST_F(Dumps, AreWrittenWhenTheProgramAsks) {
  start(DumpOptions(directory_.file("dump-%p-%n-%%.json")));
  { const Range range("first"); }
  profiler_.dump("because \"of\" it");
  wait_for(profiler_, 1);
  { const Range range("second"); }
  profiler_.dump(nullptr);
  const auto trace = profiler_.stop();
  const auto file = [&](int number) {
    return directory_.file("dump-" + std::to_string(::getpid()) + "-" + std::to_string(number) + "-%.json");
  };
  EXPECT_EQ(spans_in(file(1)), std::vector<std::string>{"first"});
  EXPECT_EQ(reason_of(file(1)), R"(because \"of\" it)");
  EXPECT_EQ(spans_in(file(2)), (std::vector<std::string>{"first", "second"})) << "stop() waits for it";
  EXPECT_EQ(profiler_.dump_count(), 2u);
  EXPECT_EQ(num_spans(trace), 2u) << "the recording went on";
  EXPECT_NE(log_.text().find("wrote a dump of the recording to " + file(1) + ": because"), std::string::npos)
      << log_.text();
}

TEST_F(Dumps, HaveTheRangeThatWasSlow) {
  DumpOptions options(pattern_);
  options.slow_ns = 500'000'000;  // a busy machine may make a quick range take 20 ms
  start(options);
  { const Range range("quick"); }
  {
    const Range outer("slow");
    spend(510);
  }
  wait_for(profiler_, 1);
  profiler_.stop();
  EXPECT_EQ(spans_in(directory_.file("dump-1.json")), (std::vector<std::string>{"quick", "slow"}));
  const std::string reason = reason_of(directory_.file("dump-1.json"));
  const std::string beginning = "slow of thread " + std::to_string(::gettid()) + " took ";
  ASSERT_EQ(reason.find(beginning), 0u) << reason;
  EXPECT_GE(std::stod(reason.substr(beginning.size())), 510) << reason;
  EXPECT_FALSE(exists(directory_.file("dump-2.json")));
}

Vm spending_vm() {
  define("test.dumps.kernel", [](const opd_value *args, int32_t, opd_value *out) {
    const float wanted = to_floats(args[0]).at(0);
    if (wanted < 0) throw std::runtime_error("negative");
    spend(static_cast<int>(wanted));
    check(opd_value_retain(&args[0], out));
  });
  return Vm(Executable::assemble(".func main(x) {\n  %y = call test.dumps.kernel(%x)\n  ret %y\n}").to_module());
}

TEST_F(Dumps, HaveTheRunThatWasSlow) {
  const Vm vm = spending_vm();
  DumpOptions options(pattern_);
  options.slow_ns = 500'000'000;
  start(options);
  vm.call("main", floats({1.f}));
  EXPECT_EQ(opd_profiler_dump_count(profiler_.get()), 0u);
  vm.call("main", floats({510.f}));
  profiler_.stop();
  const auto spans = spans_in(directory_.file("dump-1.json"));
  EXPECT_EQ(std::ranges::count(spans, "main"), 2) << "the slow one and what was before";
  EXPECT_EQ(reason_of(directory_.file("dump-1.json")).find("main of thread "), 0u);
}

TEST_F(Dumps, HaveTheRunThatFailed) {
  const Vm vm = spending_vm();
  DumpOptions options(pattern_);
  options.on_error = 1;
  start(options);
  vm.call("main", floats({0.f}));
  EXPECT_ANY_THROW(vm.call("main", floats({-1.f})));
  profiler_.stop();
  EXPECT_EQ(std::ranges::count(spans_in(directory_.file("dump-1.json")), "main"), 2);
  EXPECT_NE(reason_of(directory_.file("dump-1.json")).find(" failed after "), std::string::npos);
  EXPECT_FALSE(exists(directory_.file("dump-2.json")));
}

// A run that an exception's handler or destructor makes is no failed one.
TEST_F(Dumps, AreNotWrittenForARunWhileAnExceptionIsUnderWay) {
  const Vm vm = spending_vm();
  DumpOptions options(pattern_);
  options.on_error = 1;
  start(options);
  struct Caller {
    const Vm &vm;
    ~Caller() { vm.call("main", floats({0.f})); }
  };
  try {
    const Caller caller{vm};
    throw std::runtime_error("another one");
  } catch (const std::runtime_error &) {}
  profiler_.stop();
  EXPECT_EQ(profiler_.dump_count(), 0u);
}

TEST_F(Dumps, AreWrittenAtASignalAndRemoveItsHandlerAtTheEnd) {
  DumpOptions options(pattern_);
  options.signal = SIGUSR2;
  start(options);
  { const Range range("before"); }
  ::kill(::getpid(), SIGUSR2);
  wait_for(profiler_, 1);
  ::raise(SIGUSR2);
  profiler_.stop();
  EXPECT_EQ(spans_in(directory_.file("dump-1.json")), std::vector<std::string>{"before"});
  EXPECT_EQ(reason_of(directory_.file("dump-2.json")), "signal " + std::to_string(SIGUSR2));
  struct sigaction now {};
  ::sigaction(SIGUSR2, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(Dumps, MayShareASignal) {
  DumpOptions one(pattern_), two(directory_.file("other.json"));
  one.signal = two.signal = SIGUSR2;
  start(one);
  const Profiler other;
  other.set_dumps(two);
  other.start();
  ::raise(SIGUSR2);
  profiler_.stop();
  EXPECT_TRUE(exists(directory_.file("dump-1.json")));
  ::raise(SIGUSR2);
  other.stop();
  EXPECT_TRUE(exists(directory_.file("other.json")));
  EXPECT_EQ(profiler_.dump_count(), 1u);
  EXPECT_GE(other.dump_count(), 1u);
}

TEST_F(Dumps, MayHaveASignalForEachProfiler) {
  DumpOptions one(pattern_), two(directory_.file("other.json"));
  one.signal = SIGUSR1, two.signal = SIGUSR2;
  start(one);
  const Profiler other;
  other.set_dumps(two);
  other.start();
  ::raise(SIGUSR1);
  other.stop();
  profiler_.stop();
  EXPECT_EQ(profiler_.dump_count(), 1u);
  EXPECT_EQ(other.dump_count(), 0u);
}

TEST_F(Dumps, LeaveAHandlerOfTheProgramAlone) {
  static volatile sig_atomic_t handled;
  handled = 0;
  ::signal(SIGUSR2, [](int) { handled = 1; });
  DumpOptions options(pattern_);
  options.signal = SIGUSR2;
  profiler_.set_dumps(options);
  expect_error(opd_profiler_start(profiler_.get()), OPD_FAILED_PRECONDITION,
               "signal 12 is handled by the program already");
  ::raise(SIGUSR2);
  EXPECT_EQ(handled, 1);
  // One that comes later stays, too.
  ::signal(SIGUSR2, SIG_IGN);
  profiler_.start();
  ::signal(SIGUSR2, [](int) { handled = 2; });
  profiler_.stop();
  ::raise(SIGUSR2);
  EXPECT_EQ(handled, 2);
  ::signal(SIGUSR2, SIG_DFL);
}

// Ranges that take 1 ns at least. An empty one may take a single tick, which is less.
void run_ranges(int count) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < count; ++i) {
    const Range range("range");
    for (const auto begin = Clock::now(); Clock::now() - begin < std::chrono::nanoseconds(100);) {}
  }
}

TEST_F(Dumps, AreLimitedIfSlowCallsCauseThem) {
  DumpOptions options(pattern_);
  options.slow_ns = 1;
  options.min_interval_ns = 0;
  options.max_dumps = 2;
  start(options);
  for (uint64_t i = 1; i <= 2; ++i) {
    run_ranges(1);
    wait_for(profiler_, i);
  }
  run_ranges(1);  // too many
  profiler_.dump("asked");
  profiler_.stop();
  EXPECT_EQ(profiler_.dump_count(), 3u) << "what the program asks for has no limit";
  EXPECT_EQ(reason_of(directory_.file("dump-3.json")).find("asked"), 0u);
}

TEST_F(Dumps, HaveAMinimumIntervalIfSlowCallsCauseThem) {
  DumpOptions options(pattern_);
  options.slow_ns = 1;
  options.min_interval_ns = uint64_t{3600} * 1'000'000'000;
  start(options);
  run_ranges(100);
  wait_for(profiler_, 1);
  run_ranges(100);
  EXPECT_EQ(profiler_.dump_count(), 1u);
  profiler_.dump("asked");
  profiler_.stop();
  ASSERT_EQ(profiler_.dump_count(), 2u);
  size_t counted = 0;  // each range is the reason of a dump, or one of those that were left out
  for (const char *name : {"dump-1.json", "dump-2.json"}) {
    counted += static_cast<size_t>(num_left_out(directory_.file(name)));
    counted += reason_of(directory_.file(name)).find(" took ") != std::string::npos;
  }
  EXPECT_EQ(counted, 200u);
}

TEST_F(Dumps, LogTheReasonIfTheyCannotBeWritten) {
  start(DumpOptions(directory_.file("no/where.json")));
  profiler_.dump("asked");
  profiler_.stop();
  EXPECT_EQ(profiler_.dump_count(), 0u);
  EXPECT_NE(log_.text().find("a dump of the recording cannot be written: cannot "), std::string::npos) << log_.text();
  EXPECT_NE(log_.text().find("No such file or directory"), std::string::npos) << log_.text();
}

// The program has its dump, and stops.
TEST_F(Dumps, MayEndTheRecordingInTheLogCallback) {
  struct Stopper {
    const Profiler &profiler;
    std::atomic<int> stops{0};
  } stopper{profiler_};
  opd_log_set_callback(
      [](void *given, opd_log_level, const char *) {
        auto &stopper = *static_cast<Stopper *>(given);
        stopper.profiler.stop();
        ++stopper.stops;
      },
      &stopper, nullptr);
  for (int i = 1; i <= 3; ++i) {
    start(DumpOptions(pattern_));
    profiler_.dump("asked");
    for (int ms = 0; ms < 60'000 && stopper.stops < i; ++ms) spend(1);
    ASSERT_EQ(stopper.stops, i);
  }
  EXPECT_EQ(profiler_.dump_count(), 3u);
}

TEST_F(Dumps, DoNotWaitForTheReaderOfAPipe) {
  ASSERT_EQ(::mkfifo(directory_.file("pipe").c_str(), 0600), 0);
  start(DumpOptions(directory_.file("pipe")));
  profiler_.dump("asked");
  profiler_.stop();
  EXPECT_EQ(profiler_.dump_count(), 0u);
  EXPECT_NE(log_.text().find("is a pipe"), std::string::npos) << log_.text();
}

TEST_F(Dumps, GoOnWithTheStepsOfASchedule) {
  opd_profiler_options how;
  opd_profiler_options_init(&how);
  how.wait = 1, how.active = 1;
  const Profiler profiler(&how);
  profiler.set_dumps(DumpOptions(pattern_));
  profiler.start();
  expect_error(opd_profiler_dump(profiler.get(), nullptr), OPD_FAILED_PRECONDITION, "the profiler does not record now");
  for (int cycle = 0; cycle < 2; ++cycle) {
    profiler.step();
    profiler.dump("in a step");
    EXPECT_TRUE(profiler.step());
  }
  profiler.stop();
  EXPECT_TRUE(exists(directory_.file("dump-2.json")));
  EXPECT_EQ(profiler.dump_count(), 2u);
}

TEST_F(Dumps, TakeTheirSignalInStepsThatAreNotRecordedToo) {
  opd_profiler_options how;
  opd_profiler_options_init(&how);
  how.wait = 1, how.active = 1;
  const Profiler profiler(&how);
  DumpOptions options(pattern_);
  options.signal = SIGUSR2;
  profiler.set_dumps(options);
  profiler.start();
  ::raise(SIGUSR2);  // by itself, it kills the process
  profiler.step();
  ::raise(SIGUSR2);
  EXPECT_TRUE(profiler.step());
  ::raise(SIGUSR2);
  profiler.stop();
  EXPECT_EQ(profiler.dump_count(), 1u);
  struct sigaction now {};
  ::sigaction(SIGUSR2, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(Dumps, HaveTheFormatAndTheLengthOfTheOptions) {
  RecordingOptions how;
  how.last_ns = 1'000'000'000;
  const Profiler profiler(&how);
  DumpOptions options(directory_.file("dump.txt.gz"));
  options.format = OPD_TRACE_TABLE;
  profiler.set_dumps(options);
  profiler.start();
  { const Range range("old"); }
  spend(1010);
  const uint64_t open = opd_range_begin(opdyno::range_name("open"));
  { const Range range("new"); }
  profiler.dump();
  wait_for(profiler, 1);
  EXPECT_EQ(names_of(profiler.snapshot()), (std::vector<std::string>{"open", "new"}));
  opd_range_end(open);
  EXPECT_EQ(names_of(profiler.stop()), (std::vector<std::string>{"open", "new"}));
  EXPECT_EQ(bytes_of(directory_.file("dump.txt.gz")).substr(0, 2), "\x1f\x8b");
}

TEST_F(Dumps, AreOfRecordingsInFilesToo) {
  const std::string file = directory_.file("events");
  RecordingOptions how(file.c_str());
  how.last_ns = 1'000'000'000;
  const Profiler profiler(&how);
  profiler.set_dumps(DumpOptions(pattern_));
  profiler.start();
  { const Range range("old"); }
  spend(1010);
  { const Range range("new"); }
  profiler.dump();
  EXPECT_EQ(names_of(profiler.stop()), std::vector<std::string>{"new"});
  EXPECT_EQ(spans_in(directory_.file("dump-1.json")), std::vector<std::string>{"new"});
  EXPECT_EQ(names_of(opdyno::Trace::load(file.c_str())), (std::vector<std::string>{"old", "new"}))
      << "the file has all";
}

// A child has neither the thread nor, without "%p", a path of its own.
TEST_F(Dumps, AreNotWrittenByAForkedChild) {
  DumpOptions options(pattern_);
  options.signal = SIGUSR2;
  start(options);
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGUSR2);
    profiler_.dump("child");
    const bool is_quiet = profiler_.dump_count() == 0;
    profiler_.stop();
    ::_exit(is_quiet && !exists(directory_.file("dump-1.json")) ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  profiler_.dump("parent");
  profiler_.stop();
  EXPECT_EQ(reason_of(directory_.file("dump-1.json")), "parent");
}

TEST_F(Dumps, AreAllWrittenIfManyThreadsAsk) {
  DumpOptions options(pattern_);
  options.slow_ns = 1;
  options.min_interval_ns = 0;
  options.max_dumps = 20;
  options.signal = SIGUSR2;
  start(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        const Range range("range");
        if (i % 50 == 0) ::raise(SIGUSR2);
      }
    });
  for (std::thread &thread : threads) thread.join();
  profiler_.dump("last");
  const auto trace = profiler_.stop();
  EXPECT_EQ(num_spans(trace), 1600u);
  const uint64_t last = profiler_.dump_count();
  EXPECT_EQ(spans_in(directory_.file("dump-" + std::to_string(last) + ".json")).size(), 1600u);
}

TEST_F(Dumps, AreRefusedWithAReason) {
  const auto refused = [&](const DumpOptions &options, opd_code code, const char *message) {
    expect_error(opd_profiler_set_dumps(profiler_.get(), &options), code, message);
  };
  DumpOptions options("");
  refused(options, OPD_INVALID_ARGUMENT, "dumps need a path");
  options.path = nullptr;
  refused(options, OPD_INVALID_ARGUMENT, "dumps need a path");
  for (const int signal : {-1, 65, SIGKILL, SIGSTOP, SIGSEGV, SIGABRT}) {
    DumpOptions of_signal(pattern_);
    of_signal.signal = signal;
    refused(of_signal, OPD_INVALID_ARGUMENT, "cannot ask for a dump");
  }
  DumpOptions of_form(pattern_);
  of_form.format = static_cast<opd_trace_format>(99);
  refused(of_form, OPD_INVALID_ARGUMENT, "format must be a form of traces, but is 99");
  for (const auto form : {OPD_TRACE_MEMORY_TIMELINE, OPD_TRACE_MEMORY_TIMELINE_RAW, OPD_TRACE_MEMORY_TIMELINE_HTML}) {
    of_form.format = form;
    refused(of_form, OPD_INVALID_ARGUMENT, "dumps of a memory timeline need a profiler with profile_memory");
  }
  expect_error(opd_profiler_dump(profiler_.get(), "x"), OPD_FAILED_PRECONDITION,
               "the profiler has no dumps; set them first");
  start(DumpOptions(pattern_));
  refused(DumpOptions(pattern_), OPD_FAILED_PRECONDITION, "dumps are set before the profiler is started");
  profiler_.stop();
  check(opd_profiler_set_dumps(profiler_.get(), nullptr));
  profiler_.start();
  expect_error(opd_profiler_dump(profiler_.get(), "x"), OPD_FAILED_PRECONDITION,
               "the profiler has no dumps; set them first");
  profiler_.stop();
}

}  // namespace
