// What survives of a recording's file when the machine loses power. The disk is simulated: it has of each file what the
// library last synchronised, and nothing else.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
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

}  // namespace

// The library calls this one.
extern "C" [[gnu::visibility("default")]] int fdatasync(int file) {
  disk().keep(file);
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

namespace {

class AFlushedFile : public testing::Test {
 protected:
  void start(uint64_t flush_interval_ns = 1'000'000) {
    RecordingOptions options(path_.c_str());
    options.flush_interval_ns = flush_interval_ns;
    profiler_ = std::make_unique<Profiler>(&options);
    profiler_->start();
  }
  // What is there if the power fails as soon as both files have been synchronised.
  Trace survivor() {
    disk().attach(survivors_.file(""));
    disk().wait();
    disk().detach();
    return Trace::load(survivors_.file("events").c_str());
  }

  const ScratchDirectory directory_, survivors_;
  const std::string path_ = directory_.file("events");
  std::unique_ptr<Profiler> profiler_;
};

TEST_F(AFlushedFile, SurvivesAPowerFailure) {
  start();
  size_t made = 0;
  for (const size_t more : {1u, 10u, 1'000u, 3'000u}) {  // a block has a thousand
    add_equal_marks(more);
    made += more;
    const Trace found = survivor();
    EXPECT_EQ(num_spans(found), made);
    EXPECT_EQ(found.dropped(), 0u);
  }
  EXPECT_EQ(num_spans(profiler_->stop()), made);
}

TEST_F(AFlushedFile, SurvivesWhileThreadsWrite) {
  start();
  std::atomic<size_t> made{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) add_equal_marks(500), made += 500;
    });
  for (int i = 0; i < 3; ++i) {
    const size_t before = made;
    EXPECT_GE(num_spans(survivor()), before);
  }
  for (std::thread &thread : threads) thread.join();
}

TEST_F(AFlushedFile, IsLeftToTheSystemUnlessAskedFor) {
  disk().attach(survivors_.file(""));
  start(0);
  add_equal_marks(5'000);
  EXPECT_EQ(disk().flushes(), 0);
  profiler_->stop();
  EXPECT_EQ(disk().flushes(), 1) << "a finished file is synchronised";
  disk().detach();
}

TEST_F(AFlushedFile, IsNotFlushedByForkedChildren) {
  start();
  add_equal_marks(10);
  if (const pid_t child = ::fork(); child == 0) {
    profiler_.reset();  // must not wait for a thread that the child lacks
    ::_exit(0);
  } else {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(num_spans(profiler_->stop()), 10u);
}

TEST_F(AFlushedFile, NeedsAFileAndAnIntervalOfAtMostADay) {
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
