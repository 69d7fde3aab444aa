// Recordings in files for which there is no room, or no place.
#include <sys/resource.h>

#include <optional>
#include <thread>

#include "support/log_messages.h"
#include "support/recording_files.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Trace;

namespace {

// No file of this process grows beyond it while the object lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FileSizeLimit(const FileSizeLimit &) = delete;
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

std::string only(const LogMessages &log) {
  EXPECT_EQ(log.all().size(), 1u) << log.text();
  return log.text();
}

// Ends a recording whose file could not be written.
Trace end_incomplete(const Profiler &profiler, const std::string &path) {
  opd_trace *none = nullptr;
  expect_error(opd_profiler_stop(profiler.get(), &none), OPD_IO,
               "the recording has ended, but is not complete: cannot write " + path + ": File too large");
  EXPECT_EQ(none, nullptr);
  return Trace::load(path.c_str());
}

TEST(AFile, ThatCannotGrowIsAnErrorAndCountsLostEvents) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  record(options, [] { add_equal_marks(1); });
  const size_t least = std::filesystem::file_size(path);  // with the names that the process has
  std::optional<FileSizeLimit> limit(least + 3 * kBlock + 1000);
  const LogMessages log;
  const Profiler profiler(&options);
  profiler.start();
  size_t marks = 1'000;                                              // of the threads below
  for (; log.all().empty(); marks += 1'000) add_equal_marks(1'000);  // the program is told at once
  for (int i = 0; i < 10; ++i) std::thread([] { add_equal_marks(100); }).join();
  const Trace trace = end_incomplete(profiler, path);
  limit.reset();
  EXPECT_GE(num_spans(trace), 3 * 950u);
  EXPECT_EQ(num_spans(trace) + trace.dropped(), marks);
  EXPECT_EQ(names_of(trace), std::vector<std::string>(num_spans(trace), "mark"));
  EXPECT_TRUE(trace.table().starts_with("Dropped events: " + std::to_string(trace.dropped()) + "\n"));
  EXPECT_EQ(only(log),
            "events of a recording are lost, and counted as dropped: cannot write " + path + ": File too large\n");
  // Where there is room again, the path is free, though threads still have blocks of the file.
  EXPECT_EQ(num_spans(record(options, [] { add_equal_marks(3); })), 3u);
}

TEST(AFile, StaysIfTheNextRecordingCannotBegin) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  record(options, [] { add_equal_marks(5); });
  const Profiler profiler(&options);
  {
    const FileSizeLimit limit(1000);
    expect_error(opd_profiler_start(profiler.get()), OPD_IO, "cannot extend " + path + ".live");
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".live"));
  EXPECT_EQ(num_spans(Trace::load(path.c_str())), 5u);
  EXPECT_EQ(num_spans(record(options, [] { add_equal_marks(2); })), 2u);
}

// A service that records in cycles goes on when its disk is full, and frees it when the files are removed.
TEST(AFile, IsUnmappedIfItsEndCannotBeWritten) {
  const ScratchDirectory directory;
  const std::string path = directory.file("full");
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  profiler.start();
  add_equal_marks(5);
  std::optional<FileSizeLimit> limit(std::filesystem::file_size(path + ".live"));
  const Trace trace = end_incomplete(profiler, path);
  limit.reset();
  EXPECT_EQ(num_spans(trace) + trace.dropped(), 5u);

  const std::string other = directory.file("other");
  record(RecordingOptions(other.c_str()), [] { add_equal_marks(1); });  // this thread lets go of its block
  EXPECT_EQ(bytes_of("/proc/self/maps").find(path + ".live"), std::string::npos);
}

TEST(AFile, ThatLosesACycleRecordsTheNext) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions options(path.c_str());
  options.active = 1;
  const Profiler profiler(&options);
  profiler.start();
  std::optional<FileSizeLimit> limit(std::filesystem::file_size(path + ".live"));
  opd_trace *none = nullptr;
  expect_error(opd_profiler_step(profiler.get(), &none), OPD_IO, "cannot write " + path);
  limit.reset();
  EXPECT_TRUE(profiler.step().get());
  profiler.stop();
}

// A callback may do what the program may do anywhere.
TEST(AFile, ThatCannotGrowMayBeEndedByTheLogCallback) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  std::atomic<bool> has_ended{false};
  opdyno::set_log([&](opd_log_level, const char *) {
    add_equal_marks(10);
    end_incomplete(profiler, path);
    has_ended = true;
  });
  profiler.start();
  std::optional<FileSizeLimit> limit(std::filesystem::file_size(path + ".live"));
  while (!has_ended) add_equal_marks(1'000);
  limit.reset();
  opd_log_set_callback(nullptr, nullptr, nullptr);
}

TEST(ATrace, LogsItsDroppedEventsIfAFormCannotShowThem) {
  RecordingOptions options;
  options.max_events = 3;
  const Trace trace = record(options, [] { add_equal_marks(5); });
  const LogMessages log;
  trace.write(OPD_TRACE_STACKS);
  EXPECT_EQ(only(log), "the trace lacks 2 events that were dropped; the written form has no place to say so\n");
}

TEST(AFile, GivesItsTraceIfTheNextFileCannotBeOpened) {
  const ScratchDirectory directory;
  std::filesystem::create_directory(directory.file("inner"));
  const std::string path = directory.file("inner/events");
  RecordingOptions options(path.c_str());
  options.active = 1;
  const Profiler profiler(&options);
  profiler.start();
  add_equal_marks(3);
  std::filesystem::rename(directory.file("inner"), directory.file("moved"));
  const LogMessages log;
  const Trace trace = profiler.step();
  EXPECT_EQ(only(log).find("the next cycle is not recorded: cannot open " + path), 0u) << only(log);
  ASSERT_TRUE(trace.get());
  EXPECT_EQ(num_spans(trace), 4u) << "the step, too";
  std::filesystem::rename(directory.file("moved"), directory.file("inner"));
  EXPECT_FALSE(profiler.step().get());
  add_equal_marks(2);
  const Trace next = profiler.step();
  ASSERT_TRUE(next.get());
  EXPECT_EQ(num_spans(next), 3u) << "records again";
  profiler.stop();
}

TEST(AProfiler, WithAScheduleIsWarnedIfNoStepHasEnded) {
  RecordingOptions options;
  options.wait = 1, options.active = 1;
  for (const bool steps : {false, true}) {
    const LogMessages log;
    const Profiler profiler(&options);
    profiler.start();
    if (steps) profiler.step();
    profiler.stop();
    EXPECT_EQ(log.text().find("the profiler has a schedule, but no step has ended") == 0, !steps) << log.text();
  }
}

}  // namespace
