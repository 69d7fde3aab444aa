// Recordings: which runs and calls belong to them. The "programs" only write calls.
#include "trace/record/recording.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/thread_state.h"
#include "support/paths.h"
#include "trace/record/ranges.h"
#include "trace/record/run_recorder_inl.h"

namespace opd {
namespace {

struct Program {
  const char *name;
  int64_t size = 4;

  // A run with so many calls; `within` is called amid it.
  void run(int calls, const RunRecorder *outer = nullptr,
           const std::function<void(const RunRecorder &)> &within = {}) const {
    RunRecorder recorder;
    RunRecording part;
    recorder.reset();
    if (is_recording() || (outer && outer->listens())) part.begin(recorder, {this, kNoName, name_id(name)}, outer);
    for (int i = 0; i < calls; ++i) call(recorder, i % 2 == 0);
    if (within) within(recorder);
  }
  void call(const RunRecorder &recorder, bool has_tensor, const Error *error = nullptr) const {
    if (!recorder.listens()) return;
    int64_t dim = size;
    DLTensor vector{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &dim, nullptr, 0};
    const View args[] = {has_tensor ? opd_dltensor(&vector) : opd_int(3)};
    const uint64_t begin = recorder.begin_call(args), end = recorder.end_call();
    recorder.add({begin, end, name_id(has_tensor ? "tensor" : "number"), Event::kNoLocation, 0}, args, 0, error);
  }
};
const Program a{"a"}, b{"b"};

size_t num_runs(const Ref<Trace> &trace) { return trace->num_runs(); }
std::string names(const Ref<Trace> &trace) {
  std::string all;
  for (const TraceTrack &track : trace->parts.tracks)
    for (const Event *run : track.runs) all += name_text(run->name);
  return all;
}

TEST(Recording, TakesRunsFromItsStartToItsStop) {
  a.run(5);
  const auto recording = Recording::start({});
  EXPECT_TRUE(is_recording());
  a.run(5);
  b.run(6);
  const auto trace = recording->stop();
  EXPECT_FALSE(is_recording());
  EXPECT_FALSE(recording->is_running());
  a.run(5);
  EXPECT_EQ(names(trace), "ab");
  EXPECT_EQ(trace->num_calls(), 3u + 3) << "calls without a tensor are left out";
  const Event &run = *trace->parts.tracks[0].runs[0], &call = *trace->parts.tracks[0].calls[0];
  EXPECT_LE(run.begin, call.begin);
  EXPECT_LE(call.end, run.end);
  EXPECT_EQ(trace->run_number(call), 0u);
  EXPECT_EQ(shapes_text(call), "float32[4]");
}

TEST(Recording, TakesTheEventsSoFarAndGoesOn) {
  RecordingOptions options;
  options.ranges = true;
  options.waits = false;
  const auto recording = Recording::start(options);
  const uint64_t outer = begin_range(name_id("outer"));
  end_range(begin_range(name_id("inner")));
  a.run(4);
  EXPECT_EQ(recording->num_pending(), 4u) << "a range, a run and two calls";
  const auto first = recording->take();
  EXPECT_EQ(recording->num_pending(), 0u) << "these events are not kept";
  ASSERT_EQ(first->parts.tracks.size(), 1u);
  const auto &ranges = first->parts.tracks[0].ranges;
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(name_text(ranges[0]->name), "inner");
  EXPECT_TRUE(ranges[1]->is_open && !ranges[0]->is_open);
  EXPECT_EQ(first->num_calls(), 2u);
  end_range(outer);
  const auto second = recording->take();
  ASSERT_EQ(second->parts.tracks.size(), 1u);
  EXPECT_EQ(second->parts.tracks[0].ranges.size(), 1u);
  EXPECT_FALSE(second->parts.tracks[0].ranges[0]->is_open);
  EXPECT_EQ(second->parts.tracks[0].ranges[0]->begin, outer);
  EXPECT_EQ(second->num_calls(), 0u);
  EXPECT_TRUE(recording->take()->parts.tracks.empty());
  a.run(2);
  EXPECT_EQ(recording->stop()->num_calls(), 1u);
}

TEST(Recording, FiltersBySourceAndThread) {
  RecordingOptions of_a, here;
  of_a.source = &a;
  here.thread = thread_number();
  const auto only_a = Recording::start(of_a), only_here = Recording::start(here), all = Recording::start({});
  a.run(1);
  b.run(1);
  std::thread([] { a.run(2), b.run(2); }).join();
  EXPECT_EQ(names(only_a->stop()), "aa");
  EXPECT_EQ(names(only_here->stop()), "ab");
  EXPECT_EQ(names(all->stop()), "abab") << "the ended thread's events, too";
}

TEST(Recording, SharesEventsWithOthersThatBeginAndEndMeanwhile) {
  RecordingOptions everything;
  everything.all_calls = true;
  const auto first = Recording::start({});
  a.run(4);
  const auto second = Recording::start(everything);
  a.run(4);
  const auto of_first = first->stop();
  a.run(4);
  const auto of_second = second->stop();
  EXPECT_EQ(of_first->num_calls(), 4u);
  EXPECT_EQ(of_second->num_calls(), 8u);
  EXPECT_EQ(num_runs(of_first), 2u);
  EXPECT_EQ(num_runs(of_second), 2u);
  EXPECT_EQ(of_first->parts.tracks[0].calls[2], of_second->parts.tracks[0].calls[0]) << "written once";
}

TEST(Recording, SamplesRuns) {
  RecordingOptions options;
  options.sample_interval = 3;
  const auto recording = Recording::start(options);
  for (int i = 0; i < 10; ++i) a.run(1);
  EXPECT_EQ(num_runs(recording->stop()), 4u);
}

TEST(Recording, LimitsTheCallsOfEachThread) {
  RecordingOptions options;
  options.max_calls = 3;
  const auto recording = Recording::start(options);
  for (int i = 0; i < 2; ++i) a.run(4);
  std::thread([] { a.run(20); }).join();
  const auto trace = recording->stop();
  EXPECT_EQ(trace->num_calls(), 6u);
  EXPECT_EQ(trace->num_dropped(), 1u + 7u);
  EXPECT_EQ(num_runs(trace), 3u);
}

TEST(Recording, TakesInnerRunsOfItsProgramForPartOfTheOuter) {
  RecordingOptions of_a;
  of_a.source = &a;
  const auto recording = Recording::start(of_a);
  Ref<Recording> late;
  a.run(2, nullptr, [&](const RunRecorder &outer) {
    a.run(2, &outer);
    b.run(2);
    late = Recording::start({});
    a.run(2, &outer);
  });
  const auto inner = late->stop(), outer = recording->stop();
  EXPECT_EQ(num_runs(outer), 1u);
  EXPECT_EQ(names(outer), "aaa") << "inner runs have spans, but are not runs of their own";
  EXPECT_EQ(outer->num_calls(), 3u);
  EXPECT_EQ(names(inner), "a") << "for the later one it is a run of its own";
  EXPECT_EQ(num_runs(inner), 1u);
  for (const Event *call : outer->parts.tracks[0].calls) EXPECT_EQ(outer->run_number(*call), 0u);
}

// The second recording takes the place of the first, which the outer run did not belong to.
TEST(Recording, TakesInnerRunsIfAnotherHadItsPlaceWhenTheOuterBegan) {
  RecordingOptions of_b;
  of_b.source = &b;
  auto first = Recording::start(of_b);
  a.run(1, nullptr, [&](const RunRecorder &outer) {
    first->stop();
    const auto second = Recording::start({});
    a.run(3, &outer);
    EXPECT_EQ(second->stop()->num_calls(), 2u);
  });
}

TEST(Recording, AreSixteenAtMost) {
  std::vector<Ref<Recording>> all;
  for (uint32_t i = 0; i < kMostRecordings; ++i) all.push_back(Recording::start({}));
  try {
    Recording::start({});
    ADD_FAILURE();
  } catch (const Exception &e) { EXPECT_NE(e.error()->message.find("16 recordings run already"), std::string::npos); }
  a.run(1);
  for (const auto &each : all) EXPECT_EQ(each->stop()->num_calls(), 1u);
  const auto next = Recording::start({});
  a.run(1);
  EXPECT_EQ(next->stop()->num_calls(), 1u) << "no event of those before";
}

// Calls that last long may outlive many recordings that began before them.
TEST(Recording, BeginsThoughRunsOfSixteenEndedOnesGoOn) {
  RecordingOptions open;
  open.waits = false;
  const std::function<void(uint32_t)> occupy = [&](uint32_t places) {
    const auto ended = Recording::start(open);
    a.run(2, nullptr, [&](const RunRecorder &outer) {
      ended->stop();
      if (places > 1) return occupy(places - 1);
      EXPECT_THROW(Recording::start({}), Exception) << "it would wait for the runs";
      for (const bool in_file : {false, true}) {
        RecordingOptions next = open;
        if (in_file) next.file = opdyno_test::test_scratch("/shared_place.events");
        const auto recording = Recording::start(next);
        a.call(outer, true);
        b.run(2);
        a.run(2, &outer);
        const auto trace = recording->stop();
        EXPECT_EQ(names(trace), "ba") << in_file;
        EXPECT_EQ(num_runs(trace), 2u);
        EXPECT_EQ(trace->num_dropped(), 0u);
      }
    });
  };
  occupy(kMostRecordings);
  for (uint32_t i = 0; i < kMostRecordings; ++i) Recording::start({})->stop();
}

TEST(Recording, EndsWhenItIsDropped) {
  Recording::start({});
  EXPECT_FALSE(is_recording());
}

TEST(Recording, EndsWithItsSource) {
  RecordingOptions of_a;
  of_a.source = &a;
  const auto ended = Recording::start(of_a), other = Recording::start({});
  end_recordings_of(&a);
  EXPECT_FALSE(ended->is_running());
  a.run(2);
  EXPECT_EQ(other->stop()->num_calls(), 1u);
}

TEST(Recording, ForgetsOnRestart) {
  RecordingOptions here;
  here.thread = thread_number(), here.max_calls = 4;
  const auto recording = Recording::start(here);
  a.run(20);
  recording->restart(2, nullptr);
  for (int i = 0; i < 2; ++i) a.run(6);
  const auto trace = recording->stop();
  EXPECT_EQ(num_runs(trace), 2u);
  EXPECT_EQ(trace->num_calls(), 4u);
  EXPECT_EQ(trace->num_dropped(), 2u) << "none of the warm-up's";
}

TEST(Recording, StopsWhenTheRunsUnderWayHaveEnded) {
  const auto recording = Recording::start({});
  std::atomic<bool> began{false}, stopping{false};
  std::thread other([&] {
    a.run(2, nullptr, [&](const RunRecorder &recorder) {
      EXPECT_TRUE(recording->is_of_this_thread());
      began = true;
      while (!stopping) std::this_thread::yield();
      for (int i = 0; i < 50; ++i) std::this_thread::yield();
      a.call(recorder, true);
    });
  });
  while (!began) std::this_thread::yield();
  EXPECT_FALSE(recording->is_of_this_thread());
  stopping = true;
  const auto trace = recording->stop();
  EXPECT_EQ(trace->num_calls(), 2u) << "the last one, too";
  other.join();
}

// Threads run while recordings begin and end. Each trace must be whole: every run with all of its calls.
TEST(Recording, KeepsEachRunWholeWhileOthersBeginAndEnd) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!done) a.run(9), b.run(9);
    });
  for (int i = 0; i < 300; ++i) {
    RecordingOptions options;
    options.source = i % 2 ? &a : nullptr;
    const auto first = Recording::start(options), second = Recording::start({});
    for (const auto &recording : {first, second}) {
      const auto trace = recording->stop();
      size_t runs = 0;
      for (const TraceTrack &track : trace->parts.tracks) {
        runs += track.runs.size();
        for (size_t at = 0; at < track.calls.size(); ++at) ASSERT_EQ(track.calls[at]->run, track.runs[at / 5]->run);
        for (const Event *run : track.runs)
          ASSERT_TRUE(recording == second || i % 2 == 0 || name_text(run->name) == "a");
      }
      ASSERT_EQ(trace->num_calls(), runs * 5);
    }
  }
  done = true;
  for (auto &thread : threads) thread.join();
}

struct Observer final : CallObserver {
  Recordings recording;
  int open = 0;
  bool busy = false;
  explicit Observer(Recordings r) : recording(r) {}
  void begin_call(DLDevice) override { ++open; }
  void end_call(uint64_t, EventItems &out) noexcept override {
    out.add({EventItem::Type::kMetric, recording, name_id("open"), Metric::of_count(open--), {}});
  }
  size_t begin_run() override { return 77; }
  void end_run(size_t run, EventItems &out) noexcept override {
    out.add({EventItem::Type::kObserved, recording, kNoName, Metric::of_count(static_cast<int64_t>(run)), {}});
  }
  bool is_busy() const noexcept override { return busy; }
};
struct Observers final : CallObservers {
  std::vector<std::unique_ptr<Observer>> all;
  int *ended;
  explicit Observers(int *e) : ended(e) {}
  ~Observers() override { ++*ended; }
  CallObserver &of_thread(Recordings recording) override {
    all.push_back(std::make_unique<Observer>(recording));
    return *all.back();
  }
  std::vector<ObserverSummary> finish() override { return {{"watch", 5, std::nullopt, "seen"}}; }
};

std::string items_of(const Event &event, Recordings recordings) {
  std::string text;
  EventItem item;
  for (size_t at = 0; next_item(event, at, item);) {
    const int64_t count = item.metric.is_text() ? 0 : item.metric.count();
    if (item.recordings & recordings) text += concat(static_cast<int>(item.type), ":", count, " ");
  }
  return text;
}

TEST(Recording, HasOnlyItsOwnObserversMetrics) {
  int ended = 0;
  const auto watched = Recording::start({}, std::make_unique<Observers>(&ended)), plain = Recording::start({});
  const auto error = make_error(OPD_CALL_FAILED, "went wrong");
  a.run(1, nullptr, [&](const RunRecorder &recorder) { a.call(recorder, true, error.get()); });
  const auto trace = watched->stop(), other = plain->stop();
  ASSERT_EQ(trace->num_calls(), 2u);
  const auto &track = trace->parts.tracks[0];
  EXPECT_EQ(items_of(*track.calls[0], trace->parts.processes[0].recordings), "1:1 ");
  EXPECT_EQ(items_of(*track.calls[1], trace->parts.processes[0].recordings), "0:0 1:1 ");
  EXPECT_EQ(items_of(*track.runs[0], trace->parts.processes[0].recordings), "3:77 ");
  EXPECT_EQ(items_of(*other->parts.tracks[0].calls[1], other->parts.processes[0].recordings), "0:0 ")
      << "the error is everyone's";
  EXPECT_EQ(error_of(*track.calls[1]), "went wrong");
  ASSERT_EQ(trace->parts.observers.size(), 1u);
  EXPECT_EQ(trace->parts.observers[0].note, "seen");
}

TEST(Recording, GivesItsObserversBackWhenItsSourceEnds) {
  int ended = 0;
  RecordingOptions of_a;
  of_a.source = &a;
  const auto recording = Recording::start(of_a, std::make_unique<Observers>(&ended));
  a.run(1);
  end_recordings_of(&a);
  EXPECT_EQ(ended, 1);
}

// The child has one thread. The other one's run never ends there, so stop() must not wait for it.
TEST(Recording, StopsInAForkedChild) {
  const auto recording = Recording::start({});
  std::atomic<int> phase{0};
  std::thread other([&] {
    a.run(4, nullptr, [&](const RunRecorder &) {
      phase = 1;
      while (phase == 1) std::this_thread::yield();
    });
  });
  while (phase != 1) std::this_thread::yield();
  a.run(2);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    a.run(2);
    const auto trace = recording->stop();
    // Calls of the lost thread were published; its run was not.
    _exit(num_runs(trace) == 2 && trace->num_calls() == 4 ? 0 : 1);
  }
  phase = 2;
  other.join();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(num_runs(recording->stop()), 2u);
}

}  // namespace
}  // namespace opd
