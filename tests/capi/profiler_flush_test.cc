// What survives of a recording's file when the machine loses power. The disk is simulated: it has of each file what the
// library last synchronised, and nothing else.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "support/recording_files.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Trace;

namespace {

class Disk {
 public:
  void attach(const std::string &directory) {
    const std::scoped_lock lock(guard_);
    directory_ = directory;
    flushes_ = 0;
  }
  void detach() { attach(""); }
  void keep(int file) {
    const std::scoped_lock lock(guard_);
    if (directory_.empty()) return;
    const std::string path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
    write_bytes(directory_ + "/" + std::filesystem::path(path).filename().string(), bytes_of(path));
    ++flushes_;
  }
  int flushes() {
    const std::scoped_lock lock(guard_);
    return flushes_;
  }
  // Until both files have been synchronised after this call.
  void wait() {
    const int before = flushes();
    for (int i = 0; i < 60'000 && flushes() < before + 4; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_GE(flushes(), before + 4);
  }

 private:
  std::mutex guard_;
  std::string directory_;
  int flushes_ = 0;
};

Disk &disk() {
  static auto *disk = new Disk;
  return *disk;
}

RecordingOptions flushed(const std::string &path) {
  RecordingOptions options(path.c_str());
  options.flush_interval_ns = 1'000'000;
  return options;
}

}  // namespace

// The library calls this one.
extern "C" [[gnu::visibility("default")]] int fdatasync(int file) {
  disk().keep(file);
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

namespace {

TEST(AFlushedFile, SurvivesAPowerFailure) {
  const ScratchDirectory directory, survivors;
  const std::string path = directory.file("events"), survivor = survivors.file("events");
  const RecordingOptions options = flushed(path);
  const Profiler profiler(&options);
  profiler.start();
  disk().attach(survivors.file(""));
  size_t made = 0;
  for (const size_t more : {1u, 10u, 1'000u, 3'000u}) {  // a block has a thousand
    add_equal_marks(more);
    made += more;
    disk().wait();
    const Trace found = Trace::load(survivor.c_str());
    EXPECT_EQ(num_spans(found), made);
    EXPECT_EQ(found.dropped(), 0u);
  }
  disk().detach();
  EXPECT_EQ(num_spans(profiler.stop()), made);
}

TEST(AFlushedFile, SurvivesWhileThreadsWrite) {
  const ScratchDirectory directory, survivors;
  const std::string path = directory.file("events"), survivor = survivors.file("events");
  const RecordingOptions options = flushed(path);
  const Profiler profiler(&options);
  profiler.start();
  disk().attach(survivors.file(""));
  std::atomic<size_t> made{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) add_equal_marks(500), made += 500;
    });
  for (int i = 0; i < 3; ++i) {
    const size_t before = made;
    disk().wait();
    disk().detach();  // the power fails
    EXPECT_GE(num_spans(Trace::load(survivor.c_str())), before);
    disk().attach(survivors.file(""));
  }
  for (std::thread &thread : threads) thread.join();
  disk().detach();
  profiler.stop();
}

TEST(AFlushedFile, IsLeftToTheSystemUnlessAskedFor) {
  const ScratchDirectory directory, survivors;
  const std::string path = directory.file("events");
  disk().attach(survivors.file(""));
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  profiler.start();
  add_equal_marks(5'000);
  EXPECT_EQ(disk().flushes(), 0);
  profiler.stop();
  EXPECT_EQ(disk().flushes(), 1) << "a finished file is synchronised";
  disk().detach();
}

TEST(AFlushedFile, IsNotFlushedByForkedChildren) {
  const ScratchDirectory directory, survivors;
  const std::string path = directory.file("events");
  const RecordingOptions options = flushed(path);
  auto profiler = std::make_unique<Profiler>(&options);
  profiler->start();
  add_equal_marks(10);
  if (const pid_t child = ::fork(); child == 0) {
    profiler.reset();  // must not wait for a thread that the child lacks
    ::_exit(0);
  } else {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(num_spans(profiler->stop()), 10u);
}

TEST(AFlushedFile, NeedsAFileAndAnIntervalOfAtMostADay) {
  opd_profiler *profiler = nullptr;
  RecordingOptions options;
  options.flush_interval_ns = 1;
  expect_error(opd_profiler_create(&options, &profiler), OPD_INVALID_ARGUMENT, "flush_interval_ns needs a file");
  options.file = "unused";
  options.flush_interval_ns = 86'400'000'000'001;
  expect_error(opd_profiler_create(&options, &profiler), OPD_INVALID_ARGUMENT,
               "flush_interval_ns must be at most 86400000000000");
}

}  // namespace
