// Files of recordings whose process is killed. The process is this program again: see write_until_killed().
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "support/recording_files.h"
#include "support/sanitizers.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

constexpr int kThreads = 3;

// In memory that the writer shares with the test.
struct WriterProgress {
  std::atomic<uint64_t> begun[kThreads], ended[kThreads];  // ranges of each thread
  std::atomic<bool> has_begun;
};

// Environment: OPDYNO_TEST_FILE is the recording, OPDYNO_TEST_PROGRESS a file of Progress, OPDYNO_TEST_RING the bytes
// of a ring, or 0.
[[noreturn]] void write_until_killed() {
  const int file = ::open(std::getenv("OPDYNO_TEST_PROGRESS"), O_RDWR);
  auto *const progress = static_cast<WriterProgress *>(
      ::mmap(nullptr, sizeof(WriterProgress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  RecordingOptions options(std::getenv("OPDYNO_TEST_FILE"));
  options.max_bytes = std::strtoull(std::getenv("OPDYNO_TEST_RING"), nullptr, 10);
  options.buffer = options.max_bytes ? OPD_PROFILER_KEEP_LAST : OPD_PROFILER_KEEP_FIRST;
  const Profiler profiler(&options);
  profiler.start();
  progress->has_begun = true;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([=] {
      const uint64_t outer = opd_range_begin(opdyno::range_name(("thread " + std::to_string(i)).c_str()));
      for (uint64_t n = 1;; ++n) {
        progress->begun[i].store(n);
        opd_range_end(opd_range_begin(opdyno::range_name(std::to_string(n % 5000).c_str())));
        progress->ended[i].store(n);
      }
      opd_range_end(outer);
    });
  threads[0].join();
  ::_exit(0);
}

[[gnu::constructor(65535)]] void be_the_writer() {
  if (std::getenv("OPDYNO_TEST_PROGRESS")) write_until_killed();
}

class AKilledProcess : public testing::Test {
 protected:
  AKilledProcess() {
    const int file = ::open(directory.file("progress").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(file, sizeof(WriterProgress)), 0);
    progress = static_cast<WriterProgress *>(
        ::mmap(nullptr, sizeof(WriterProgress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
  }
  ~AKilledProcess() override { ::munmap(progress, sizeof(WriterProgress)); }

  // Runs the writer until its threads have made so many ranges together, and kills it `delay_us` later.
  void run(uint64_t ring, uint64_t ranges, unsigned delay_us) {
    ::memset(static_cast<void *>(progress), 0, sizeof(WriterProgress));
    ::setenv("OPDYNO_TEST_FILE", path.c_str(), 1);
    ::setenv("OPDYNO_TEST_PROGRESS", directory.file("progress").c_str(), 1);
    ::setenv("OPDYNO_TEST_RING", std::to_string(ring).c_str(), 1);
    char name[] = "writer";
    char *arguments[] = {name, nullptr};
    pid_t writer = 0;
    ASSERT_EQ(::posix_spawn(&writer, "/proc/self/exe", nullptr, nullptr, arguments, environ), 0);
    ::unsetenv("OPDYNO_TEST_PROGRESS");
    while (made() < ranges || !progress->has_begun) {
      ::usleep(100);
      ASSERT_EQ(::waitpid(writer, nullptr, WNOHANG), 0) << "the writer ended by itself";
    }
    ::usleep(delay_us);
    ::kill(writer, SIGKILL);
    ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
  }
  uint64_t made() const {
    uint64_t sum = 0;
    for (const auto &ended : progress->ended) sum += ended;
    return sum;
  }

  // Every range that had ended is there or counted, and at most one more of each thread; of each thread that has room
  // the newest one is there.
  void check_all(const Trace &trace) const {
    size_t open = 0, kept = 0;
    const opdyno::Report report = trace.report(OPD_TRACE_EVENTS);
    for (int32_t row = 0; row < opd_report_call_count(report.get()); ++row) {
      const std::string name = text_value(call_value(report, row, "Name"));
      ASSERT_NE(name, "?");
      if (call_value(report, row, "Open").view().u.int64) ++open;
      else ++kept;
    }
    uint64_t least = 0, most = 0;
    for (int i = 0; i < kThreads; ++i) least += progress->ended[i], most += progress->begun[i];
    ASSERT_GE(kept + trace.dropped(), least);
    ASSERT_LE(kept + trace.dropped(), most);
    ASSERT_LE(open, 2u * kThreads) << "the outer range of each thread, and an inner one";
    ASSERT_GE(open, 1u);
  }

  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  WriterProgress *progress;
};

// Moments at which it is killed, for each of two tests.
int num_kills() { return std::getenv("OPDYNO_TEST_FULL") ? 200 : rounds(25); }

TEST_F(AKilledProcess, LosesNothingThatItPublishedInAFile) {
  std::mt19937 random(1);
  for (int i = 0; i < num_kills() && !HasFatalFailure(); ++i) {
    run(0, random() % 20'000, random() % 500);
    const Trace trace = Trace::load(path.c_str());
    EXPECT_EQ(trace.dropped(), 0u);
    check_all(trace);
  }
}

TEST_F(AKilledProcess, LosesOnlyTheOldestInARing) {
  std::mt19937 random(2);
  for (int i = 0; i < num_kills() && !HasFatalFailure(); ++i) {
    run(4 << 16, random() % 40'000, random() % 500);
    const Trace trace = Trace::load(path.c_str());
    check_all(trace);
    EXPECT_GE(num_spans(trace) + kThreads, std::min<uint64_t>(made(), 3 * 950));
  }
}

TEST_F(AKilledProcess, LeavesItsFilesToTheNextOne) {
  run(0, 5'000, 0);
  const size_t kept = num_spans(Trace::load(path.c_str()));
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  profiler.start();
  const Trace crashed = Trace::load((path + ".crashed").c_str());
  EXPECT_EQ(num_spans(crashed), kept);
  check_all(crashed);
  EXPECT_EQ(num_spans(profiler.stop()), 0u);
  EXPECT_TRUE(std::filesystem::exists(path + ".crashed.live"));
}

// Of the two files, FILE is moved first: without FILE.live, it would be taken for a finished recording, and emptied.
TEST_F(AKilledProcess, LosesNothingIfItsFilesCannotBeMoved) {
  for (const char *const blocked : {".crashed", ".crashed.live"}) {
    run(0, 5'000, 0);
    const size_t kept = num_spans(Trace::load(path.c_str()));
    std::filesystem::remove_all(path + ".crashed");
    std::filesystem::remove_all(path + ".crashed.live");
    std::filesystem::create_directory(path + blocked);
    const RecordingOptions options(path.c_str());
    const Profiler profiler(&options);
    expect_error(opd_profiler_start(profiler.get()), OPD_IO, "cannot rename");
    std::filesystem::remove(path + blocked);
    profiler.start();
    EXPECT_EQ(num_spans(Trace::load((path + ".crashed").c_str())), kept) << blocked;
  }
}

TEST_F(AKilledProcess, LeavesTheOpenSpanOfEachThread) {
  run(0, 5'000, 0);
  const auto names = names_of(Trace::load(path.c_str()));
  for (int i = 0; i < kThreads; ++i) {
    if (progress->begun[i] == 0) continue;
    EXPECT_EQ(std::count(names.begin(), names.end(), "thread " + std::to_string(i)), 1);
  }
}

// One damaged byte, whichever it is, costs at most one block of what a killed process left.
TEST_F(AKilledProcess, LosesABlockByADamagedByte) {
  run(0, 20'000, 0);
  const uint64_t made_by_all = num_spans(Trace::load(path.c_str()));
  std::mt19937 random(3);
  for (const std::string &file : {path, path + ".live"}) {
    const std::string whole = bytes_of(file);
    for (int i = 0; i < rounds(40); ++i) {
      std::string damaged = whole;
      damaged[random() % whole.size()] ^= static_cast<char>(1 + random() % 255);
      write_bytes(file, damaged);
      const Trace trace = Trace::load(path.c_str());
      EXPECT_GE(num_spans(trace) + 1024 + 2 * kThreads, made_by_all) << file;
    }
    write_bytes(file, whole);
  }
}

}  // namespace
