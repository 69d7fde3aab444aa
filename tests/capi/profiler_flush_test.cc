// What survives of a recording's file when the machine loses power. The disk is simulated: it has of each file what the
// library last synchronised, and nothing else.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "support/log_messages.h"
#include "support/recording_files.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Trace;

namespace {

// Its copies are made as the library synchronises a file, until the power fails.
class Disk {
 public:
  // Keeps copies in the directory. `on_sync` is called after each copy, by the thread that synchronises.
  void attach(const std::string &directory, std::function<void()> on_sync = {}) {
    const std::scoped_lock lock(guard_);
    directory_ = directory;
    on_sync_ = std::move(on_sync);
    syncs_ = 0;
    fails_at_ = SIZE_MAX;
  }
  void detach() { attach(""); }
  void keep(int file) {
    std::function<void()> on_sync;
    {
      const std::scoped_lock lock(guard_);
      if (directory_.empty() || syncs_ >= fails_at_) return;
      const std::string path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
      write_bytes(directory_ + "/" + std::filesystem::path(path).filename().string(), bytes_of(path));
      ++syncs_;
      on_sync = on_sync_;
    }
    if (on_sync) on_sync();  // without the lock: it may do anything
  }
  size_t syncs() {
    const std::scoped_lock lock(guard_);
    return syncs_;
  }
  // The power fails when both files have been synchronised after this call.
  void fail() {
    size_t at;
    {
      const std::scoped_lock lock(guard_);
      at = fails_at_ = (syncs_ + 1) / 2 * 2 + 2;
    }
    for (int i = 0; i < 60'000 && syncs() < at; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(syncs(), at);
  }

 private:
  std::mutex guard_;
  std::string directory_;
  std::function<void()> on_sync_;
  size_t syncs_ = 0, fails_at_ = SIZE_MAX;
};

std::atomic<bool> is_broken{false};  // the disk

Disk &disk() {
  static auto *disk = new Disk;
  return *disk;
}

}  // namespace

// The library calls this one.
extern "C" [[gnu::visibility("default")]] int fdatasync(int file) {
  disk().keep(file);
  if (is_broken) return errno = EIO, -1;
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

namespace {

class AFlushedFile : public testing::Test {
 protected:
  void start(uint64_t flush_interval_ns = 1'000'000, std::function<void()> on_sync = {}) {
    disk().attach(survivors_.file(""), std::move(on_sync));
    RecordingOptions options(path_.c_str());
    options.flush_interval_ns = flush_interval_ns;
    profiler_ = std::make_unique<Profiler>(&options);
    profiler_->start();
  }
  ~AFlushedFile() override { disk().detach(); }
  // What is there after a power failure.
  Trace survivor() const { return Trace::load(survivors_.file("events").c_str()); }

  const ScratchDirectory directory_, survivors_;
  const std::string path_ = directory_.file("events");
  std::unique_ptr<Profiler> profiler_;
};

TEST_F(AFlushedFile, SurvivesAPowerFailure) {
  for (const size_t made : {1u, 10u, 1'000u, 3'000u}) {  // a block has a thousand
    start();
    add_equal_marks(made);
    disk().fail();
    const Trace found = survivor();
    EXPECT_EQ(num_spans(found), made);
    EXPECT_EQ(found.dropped(), 0u);
    EXPECT_EQ(num_spans(profiler_->stop()), made);
  }
}

// What is sealed while the two files are being synchronised was in the one that comes first, or is in the other one.
TEST_F(AFlushedFile, SurvivesWhileBlocksAreSealed) {
  std::atomic<bool> records{false};
  std::atomic<size_t> made{0};
  size_t calls = 0, made_before = 0;
  start(1'000'000, [&] {
    if (++calls % 2) made_before = made;
    if (records && made < 9'000) add_equal_marks(1'500), made += 1'500;
  });
  records = true;
  while (made < 6'000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  disk().fail();
  const Trace found = survivor();
  profiler_->stop();
  EXPECT_GE(num_spans(found), made_before);
  EXPECT_GE(made_before, 4'500u);
}

TEST_F(AFlushedFile, SurvivesWhileThreadsWrite) {
  start();
  std::atomic<size_t> made{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) add_equal_marks(500), made += 500;
    });
  const size_t before = made;
  disk().fail();
  EXPECT_GE(num_spans(survivor()), before);
  for (std::thread &thread : threads) thread.join();
}

TEST_F(AFlushedFile, IsLeftToTheSystemUnlessAskedFor) {
  start(0);
  add_equal_marks(5'000);
  EXPECT_EQ(disk().syncs(), 0u);
  profiler_->stop();
  EXPECT_EQ(disk().syncs(), 1u) << "a finished file is synchronised";
}

TEST_F(AFlushedFile, SaysThatTheDiskFailed) {
  const LogMessages log;
  start();
  is_broken = true;
  disk().fail();
  is_broken = false;
  profiler_->stop();
  EXPECT_NE(log.text().find(path_ + ": Input/output error"), std::string::npos) << log.text();
}

// The log callback is called when all is done, without a lock.
TEST_F(AFlushedFile, CanBeStartedAgainInTheLogCallback) {
  start();
  is_broken = true;
  disk().fail();
  is_broken = false;
  opd_log_set_callback(
      [](void *given, opd_log_level, const char *) {
        const auto &profiler = *static_cast<const Profiler *>(given);
        profiler.start();
        EXPECT_EQ(num_spans(profiler.snapshot()), 0u);
        profiler.stop();
      },
      profiler_.get(), nullptr);
  profiler_->stop();
  opd_log_set_callback(nullptr, nullptr, nullptr);
}

TEST_F(AFlushedFile, IsNotFlushedByForkedChildren) {
  start();
  add_equal_marks(10);
  if (const pid_t child = ::fork(); child == 0) {
    profiler_.reset();
    const Profiler other;
    other.start();
    add_equal_marks(1);  // lets go of the file, which must not wait for a thread that the child lacks
    other.stop();
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
