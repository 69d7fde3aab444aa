// Files of recordings that others use meanwhile: readers, threads that write as the recording ends, further recordings.
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "support/recording_files.h"
#include "support/sanitizers.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

std::function<void(int file, off_t offset)> before_pread;

}  // namespace

// The library reads files of recordings by this one.
extern "C" [[gnu::visibility("default")]] ssize_t pread(int file, void *data, size_t size, off_t offset) {
  if (before_pread) before_pread(file, offset);
  return ::syscall(SYS_pread64, file, data, size, offset);
}

namespace {

TEST(AFileInUse, IsReadWhileItIsWritten) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  profiler.start();
  std::atomic<bool> ends{false};
  std::thread writer([&] {
    const uint32_t name = opdyno::range_name("written");
    // Each reading takes memory for all of them.
    for (int i = 0; i < rounds(100'000) && !ends; ++i) const Range range(name);
  });
  size_t last = 0;
  for (int i = 0; i < rounds(20); ++i) {
    const Trace trace = i % 2 ? profiler.snapshot() : Trace::load(path.c_str());
    EXPECT_EQ(trace.dropped(), 0u);
    EXPECT_GE(num_spans(trace) + 1, last) << "but for the range that was open";
    last = num_spans(trace);
  }
  ends = true;
  writer.join();
  EXPECT_GE(num_spans(profiler.stop()) + 1, last);
}

// Reads the file again and again while the threads of `write` write into it. Nothing is lost, whatever it is read amid.
void expect_no_drops(const std::function<void(const std::atomic<bool> &ends)> &write) {
  for (int recording = 0; recording < rounds(5); ++recording) {
    const ScratchDirectory directory;
    const std::string path = directory.file("events");
    const RecordingOptions options(path.c_str());
    const Profiler profiler(&options);
    profiler.start();
    std::atomic<bool> ends{false};
    std::thread writer([&] { write(ends); });
    for (int i = 0; i < 50; ++i) EXPECT_EQ((i % 2 ? profiler.snapshot() : Trace::load(path.c_str())).dropped(), 0u);
    ends = true;
    writer.join();
    EXPECT_EQ(profiler.stop().dropped(), 0u);
  }
}

TEST(AFileInUse, IsReadWhileThreadsEnd) {
  expect_no_drops([](const std::atomic<bool> &ends) {
    for (int i = 0; i < 2'000 && !ends; ++i) std::thread([] { add_equal_marks(20); }).join();
  });
}

TEST(AFileInUse, IsReadWhileThreadsFillBlocks) {
  expect_no_drops([](const std::atomic<bool> &ends) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 50 && !ends; ++i) add_equal_marks(1'000);
      });
    for (std::thread &thread : threads) thread.join();
  });
}

// Of two blocks of one thread, the older one is written into the place that the reader has passed, before it reads the
// newer one.
TEST(AFileInUse, HasBlocksThatAreWrittenAsItIsRead) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events"), copy = directory.file("copy");
  const RecordingOptions options(path.c_str());
  record(options, [&] {
    add_equal_marks(2'500);  // a block has a thousand
    std::filesystem::copy_file(path, copy);
    std::filesystem::copy_file(path + ".live", copy + ".live");
  });
  const std::string whole = bytes_of(copy);
  ASSERT_GE(whole.size(), 3 * kBlock);
  write_bytes(copy, whole.substr(0, kBlock) + std::string(kBlock, '\0') + whole.substr(2 * kBlock));
  const std::string lacking = bytes_of(copy);
  before_pread = [&](int file, off_t offset) {
    const bool is_copy = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file)) == copy;
    if (!is_copy || offset != static_cast<off_t>(2 * kBlock) || bytes_of(copy) != lacking) return;
    std::fstream(copy, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(kBlock))
        .write(whole.data() + kBlock, static_cast<std::streamsize>(kBlock));
  };
  const Trace trace = Trace::load(copy.c_str());
  before_pread = {};
  EXPECT_EQ(bytes_of(copy), whole);
  EXPECT_EQ(trace.dropped(), 0u);
  EXPECT_EQ(num_spans(trace), 2'500u);
}

// A thread that saw the recording just before its end writes no further event, and never into the complete file.
TEST(AFileInUse, EndsWhileThreadsWrite) {
  const ScratchDirectory directory;
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!ends) add_equal_marks(1);
    });
  threads.emplace_back([&] {
    while (!ends) std::thread([] { add_equal_marks(2); }).join();
  });
  for (int i = 0; i < rounds(300); ++i) {
    const std::string path = directory.file(std::to_string(i % 4));
    const RecordingOptions options(path.c_str());
    const Trace trace = record(options, [] { std::this_thread::sleep_for(std::chrono::microseconds(200)); });
    EXPECT_EQ(trace.dropped(), 0u);
    EXPECT_EQ(num_spans(Trace::load(path.c_str())), num_spans(trace));
  }
  ends = true;
  for (std::thread &thread : threads) thread.join();
}

TEST(AFileInUse, ShowsNoEndedRangeAsOpenIfItIsFull) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions options(path.c_str());
  options.max_bytes = kBlock;
  const Trace trace = record(options, [] {
    std::thread([] {
      for (int i = 0; i < 3'000; ++i) const Range range("request");
    }).join();
  });
  EXPECT_EQ(num_spans(trace) + trace.dropped(), 3'000u);
  const Trace loaded = Trace::load(path.c_str());
  EXPECT_EQ(num_spans(loaded) + loaded.dropped(), 3'000u);
}

TEST(AFileInUse, StaysInTheDirectoryInWhichTheProfilerWasMade) {
  const ScratchDirectory directory;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory.file(""));
  std::filesystem::create_directory("elsewhere");
  const RecordingOptions options("events");
  const Profiler profiler(&options);
  profiler.start();
  add_equal_marks(3);
  std::filesystem::current_path("elsewhere");
  write_bytes("events.live", "another's");
  EXPECT_EQ(num_spans(profiler.stop()), 3u);
  EXPECT_EQ(bytes_of("events.live"), "another's");
  std::filesystem::current_path(before);
  EXPECT_EQ(num_spans(Trace::load(directory.file("events").c_str())), 3u);
  EXPECT_FALSE(std::filesystem::exists(directory.file("events.live")));
}

TEST(AFileInUse, HasOneWriterUnderAllItsNames) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events"), link = directory.file("link"), hard = directory.file("hard");
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  profiler.start();
  std::filesystem::create_symlink(path, link);
  std::filesystem::create_hard_link(path, hard);
  for (const std::string &name : {link, hard}) {
    const RecordingOptions same(name.c_str());
    const Profiler other(&same);
    expect_error(opd_profiler_start(other.get()), OPD_FAILED_PRECONDITION, "another recording is writing " + name);
    EXPECT_FALSE(std::filesystem::exists(name + ".live"));
  }
  add_equal_marks(3);
  EXPECT_EQ(num_spans(profiler.stop()), 3u);
}

// Whoever removes the files of a recording makes room for another one, which keeps its own.
TEST(AFileInUse, LeavesTheFilesOfTheNextOne) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  const Profiler first(&options), second(&options);
  first.start();
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".live");
  second.start();
  add_equal_marks(3);
  EXPECT_EQ(num_spans(first.stop()), 3u);
  EXPECT_TRUE(std::filesystem::exists(path + ".live"));
  EXPECT_EQ(num_spans(second.stop()), 3u);
  EXPECT_FALSE(std::filesystem::exists(path + ".live"));
}

// Threads may not record again for long.
TEST(AFileInUse, IsClosedWithItsRecording) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const auto open_files = [] {
    size_t found = 0;
    for (const auto &file : std::filesystem::directory_iterator("/proc/self/fd"))
      if (std::error_code gone; std::filesystem::read_symlink(file, gone).string().find("events") != std::string::npos)
        ++found;
    return found;
  };
  const RecordingOptions options(path.c_str());
  record(options, [&] {
    add_equal_marks(1);
    EXPECT_EQ(open_files(), 2u);
  });
  EXPECT_EQ(open_files(), 0u);
}

}  // namespace
