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

TEST(AFile, CountsLostEventsIfItCannotGrow) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  record(options, [] { add_equal_marks(1); });
  const size_t least = std::filesystem::file_size(path);  // with the names that the process has
  std::optional<FileSizeLimit> limit(least + 3 * kBlock + 1000);
  const LogMessages log;
  const Trace trace = record(options, [] {
    add_equal_marks(20'000);
    for (int i = 0; i < 10; ++i) std::thread([] { add_equal_marks(100); }).join();
  });
  limit.reset();
  EXPECT_GE(num_spans(trace), 3 * 950u);
  EXPECT_EQ(num_spans(trace) + trace.dropped(), 21'000u);
  const auto names = names_of(Trace::load(path.c_str()));
  EXPECT_EQ(names, std::vector<std::string>(num_spans(trace), "mark")) << "what found no room in it is beside it";
  EXPECT_NE(only(log).find(path + ": File too large"), std::string::npos) << only(log);
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
  const Trace trace = profiler.stop();
  limit.reset();
  EXPECT_EQ(num_spans(trace) + trace.dropped(), 5u);
  EXPECT_EQ(num_spans(Trace::load(path.c_str())), num_spans(trace));

  const std::string other = directory.file("other");
  record(RecordingOptions(other.c_str()), [] { add_equal_marks(1); });  // this thread lets go of its block
  EXPECT_EQ(bytes_of("/proc/self/maps").find(path + ".live"), std::string::npos);
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

}  // namespace
