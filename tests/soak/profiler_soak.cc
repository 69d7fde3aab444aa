// Sixteen threads mark ranges and call a VM, and others begin and end, while profilers of all kinds come and go. Each
// event is accounted for: it is in a trace or counted as dropped. For OPDYNO_SOAK_SECONDS.
#include <atomic>
#include <random>
#include <thread>

#include "support/recording_files.h"
#include "support/soak_threads.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

class ProfilerSoak : public testing::Test {
 protected:
  ProfilerSoak() {
    define("soak.profiler.kernel", [](const opd_value *args, int32_t, opd_value *out) {
      if (elements(args[0])[0] < 0) throw std::runtime_error("negative");
      check(opd_value_retain(&args[0], out));
    });
    vm_ = Vm(Executable::assemble(".func main(x) {\n  %y = call soak.profiler.kernel(%x)\n  ret %y\n}").to_module());
  }

  // Counts the events that it makes: a range, a mark within a pushed range, and a run with its call, which may fail.
  void work(size_t t) {
    const Tensor good = floats({1}), bad = floats({-1});
    for (size_t i = 0; i < 50; ++i) {
      const Range outer(range_);
      const Range inner("pushed");
      opdyno::mark(mark_);
      if ((i + t) % 10 == 0) EXPECT_ANY_THROW(vm_.call("main", bad));
      else vm_.call("main", good);
    }
    made_ += 50 * 5;
  }

  // A profiler of its own kind sees each of its thread's ranges.
  void record(size_t t) {
    thread_local std::mt19937 random(static_cast<unsigned>(t));
    const std::string name = std::to_string(t);
    const std::string file = directory_.file("events-" + name), dumps = directory_.file("dump-%n-" + name + ".json");
    RecordingOptions options(random() % 3 == 0 ? file.c_str() : nullptr);
    options.profile_memory = random() % 2;
    options.with_stack = random() % 4 == 0;
    options.parallel_tasks = random() % 2;
    const Profiler profiler(&options);
    if (random() % 2) {
      auto how = opdyno::defaults(opd_profiler_dump_options_init);
      how.path = dumps.c_str();
      how.on_error = 1;
      how.slow_ns = 1'000'000;
      how.max_dumps = 1;
      profiler.set_dumps(how);
    }
    profiler.start();
    const std::string witness = "witness " + name;
    const uint32_t number = opdyno::range_name(witness.c_str());
    for (int i = 0; i < 20; ++i) const Range range(number);
    SCOPED_TRACE(std::string(options.file ? "in a file" : "in memory") + (options.profile_memory ? ", memory" : "") +
                 (options.with_stack ? ", stacks" : "") + (options.parallel_tasks ? ", tasks" : ""));
    if (random() % 2) expect_witnesses(profiler.snapshot(), witness, "snapshot");
    expect_witnesses(profiler.stop(), witness, "stop");
    made_ += 20;
    ++recordings_;
  }
  static void expect_witnesses(const Trace &trace, const std::string &witness, const char *when) {
    EXPECT_EQ(trace.dropped(), 0u) << when;
    size_t found = 0;
    for (const std::string &name : names_of(trace)) found += name == witness;
    EXPECT_EQ(found, 20u);
  }

  const ScratchDirectory directory_;
  Vm vm_;
  const uint32_t range_ = opdyno::range_name("range"), mark_ = opdyno::range_name("mark");
  std::atomic<uint64_t> made_{0}, recordings_{0};
  SoakThreads threads_;
};

void soak(const RecordingOptions &options, const std::function<void()> &body, const std::atomic<uint64_t> &made) {
  const Profiler whole(&options);
  whole.start();
  body();
  const Trace trace = whole.stop();
  EXPECT_EQ(num_spans(trace) + trace.dropped(), made.load());
  EXPECT_GT(num_spans(trace), 1000u);
}

TEST_F(ProfilerSoak, AccountsForEachEvent) {
  RecordingOptions ring;
  ring.buffer = OPD_PROFILER_KEEP_LAST;
  ring.max_bytes = 8 << 20;
  ring.parallel_tasks = 0;
  RecordingOptions file(nullptr);
  const std::string path = directory_.file("whole");
  file.file = path.c_str();
  file.buffer = OPD_PROFILER_KEEP_LAST;
  file.max_bytes = 8 << 20;
  const auto run = [&] {
    threads_.start(12, [this](size_t t, size_t) { work(t); });
    threads_.start(2, [this](size_t t, size_t) { std::thread([this, t] { work(t); }).join(); });
    threads_.start(2, [this](size_t t, size_t) { record(t); });
    threads_.finish();
  };
  soak(
      ring, [&] { soak(file, run, made_); }, made_);
  EXPECT_GE(recordings_.load(), 2u);  // of both threads
}

}  // namespace
