// What the library itself writes into files of recordings, and how it takes hold of them.
#include "trace/file/event_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "base/text.h"
#include "trace/model/trace.h"
#include "trace/record/ranges.h"
#include "trace/record/recording.h"
#include "trace/record/run_recorder.h"

namespace opd {
namespace {
std::function<int()> before_lock;  // returns an error, or 0
// Returns how many bytes are written, 0 for none, or an error as a negative number; null: all are.
std::function<ssize_t(size_t size)> before_write;
}  // namespace
}  // namespace opd

// The library calls these.
extern "C" ssize_t pwrite(int file, const void *data, size_t size, off_t offset) {
  const ssize_t allowed = opd::before_write ? opd::before_write(size) : static_cast<ssize_t>(size);
  if (allowed < 0) return errno = static_cast<int>(-allowed), -1;
  return allowed ? ::syscall(SYS_pwrite64, file, data, static_cast<size_t>(allowed), offset) : 0;
}
extern "C" int flock(int file, int operation) noexcept {
  if (opd::before_lock && (operation & LOCK_EX))
    if (const int error = opd::before_lock()) return errno = error, -1;
  return static_cast<int>(::syscall(SYS_flock, file, operation));
}

namespace opd {
namespace {

class AFileOfEvents : public testing::Test {
 protected:
  AFileOfEvents() {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    options_.file = directory_ + "/events";
    options_.ranges = true, options_.waits = false;
  }
  ~AFileOfEvents() override {
    before_lock = {}, before_write = {};
    std::filesystem::remove_all(directory_);
  }
  Ref<Trace> read() const { return read_event_file(options_.file); }

  std::string directory_ = std::filesystem::temp_directory_path() / "opdyno-events.XXXXXX";
  RecordingOptions options_;
};

TEST_F(AFileOfEvents, HasItsProcessAndItsOptions) {
  options_.sample_interval = 4, options_.memory = true;
  const TraceProcess expected = TraceProcess::of_this();
  const auto recording = Recording::start(options_);
  const Ref<Trace> amid = read(), complete = recording->stop(), later = read();
  for (const auto &trace : {amid, complete, later}) {
    const TraceProcess &process = trace->parts.processes[0];
    EXPECT_EQ(process.id, expected.id);
    EXPECT_EQ(process.name, expected.name);
    EXPECT_EQ(process.host, expected.host);
    EXPECT_EQ(process.clock_name, expected.clock_name);
    EXPECT_EQ(process.clock, tick_clock());
    EXPECT_EQ(process.sample_interval, 4u);
    EXPECT_TRUE(trace->parts.has_memory);
    EXPECT_FALSE(trace->parts.has_stacks);
    EXPECT_NE(process.recording, 0u);
    EXPECT_EQ(process.recording, amid->parts.processes[0].recording);
  }
  EXPECT_EQ(amid->parts.metadata.size(), 1u) << "it is not finished";
  EXPECT_EQ(later->parts.metadata.size(), 0u);
}

TEST_F(AFileOfEvents, HasTheLoadedLibrariesFromItsBeginOn) {
  options_.stacks = true;
  const auto recording = Recording::start(options_);
  const auto here = reinterpret_cast<uint64_t>(&name_text);
  const auto has_this_program = [&](const Ref<Trace> &trace) {
    return std::ranges::any_of(trace->parts.processes[0].objects, [&](const LoadedObject &object) {
      return object.begin <= here && here < object.end && !object.path.empty();
    });
  };
  EXPECT_TRUE(has_this_program(read())) << "as after a crash";
  EXPECT_TRUE(has_this_program(recording->stop()));
  EXPECT_TRUE(has_this_program(read()));
}

TEST_F(AFileOfEvents, ShowsTheRunThatIsOpenWithItsNumberAndItsParents) {
  const auto recording = Recording::start(options_);
  RunRecorder outer, inner;
  outer.reset(), inner.reset();
  RunRecording first, second;
  first.begin(outer, {this, kNoName, name_id("outer")}, nullptr);
  second.begin(inner, {this, kNoName, name_id("inner")}, &outer);
  const Ref<Trace> trace = read();
  const auto &runs = trace->parts.tracks.at(0).runs;  // the innermost one first
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_TRUE(runs[0]->is_open && runs[1]->is_open);
  EXPECT_NE(runs[1]->run, 0u);
  EXPECT_EQ(runs[0]->run, runs[1]->run + 1);
  EXPECT_EQ(runs[0]->parent_run, runs[1]->run);
  EXPECT_EQ(runs[1]->parent_run, 0u);
}

TEST_F(AFileOfEvents, CutsNamesOfMoreThan16KiB) {
  const auto recording = Recording::start(options_);
  for (const size_t length : {0, 7, 8, 9, 16'383, 16'384, 16'385}) add_mark(name_id(std::string(length, 'x')));
  const Ref<Trace> trace = recording->stop();
  std::vector<size_t> lengths;
  for (const Event *mark : trace->parts.tracks.at(0).ranges) lengths.push_back(name_text(mark->name).size());
  EXPECT_EQ(lengths, (std::vector<size_t>{0, 7, 8, 9, 16'383, 16'384, 16'384}));
}

TEST_F(AFileOfEvents, CutsNamesBetweenCharacters) {
  const auto recording = Recording::start(options_);
  const auto cut = [](size_t letters, const std::string &rest) {
    add_mark(name_id(std::string(letters, 'x') + rest + "yyyy"));
  };
  cut(16'382, "\u00E9"), cut(16'383, "\u00E9"), cut(16'384, "\u00E9");
  cut(16'381, "\U0001F600"), cut(16'380, "\U0001F600");
  cut(0, std::string(20'000, '\x80'));  // no text: as many bytes as a character may have are looked at
  const Ref<Trace> trace = recording->stop();
  std::vector<size_t> lengths;
  for (const Event *mark : trace->parts.tracks.at(0).ranges) lengths.push_back(name_text(mark->name).size());
  EXPECT_EQ(lengths, (std::vector<size_t>{16'384, 16'383, 16'384, 16'381, 16'384, 16'380}));
}

TEST_F(AFileOfEvents, IsWrittenInAsManyStepsAsItTakes) {
  size_t writes = 0;
  before_write = [&](size_t size) {
    return ++writes % 3 ? static_cast<ssize_t>(std::min<size_t>(size, 5'000)) : ssize_t{-EINTR};
  };
  const auto recording = Recording::start(options_);
  for (int i = 0; i < 3'000; ++i) add_mark(name_id("mark"));
  const Ref<Trace> trace = recording->stop();
  EXPECT_GT(writes, 3'000 * sizeof(Event) / 5'000);
  EXPECT_EQ(trace->num_spans(), 3'000u);
  EXPECT_EQ(trace->num_dropped(), 0u);
  EXPECT_EQ(read()->num_spans(), 3'000u);
}

TEST_F(AFileOfEvents, DropsEventsThatCannotBeWrittenAndKeepsTheFirstReason) {
  struct Row {
    ssize_t result;
    int reason;
  };
  for (const Row &row : {Row{-ENOSPC, ENOSPC}, Row{0, EIO}}) {
    const auto file = EventFile::create({.path = options_.file});
    file->begin({.recordings = 1}, 0);
    EXPECT_EQ(file->error(), 0);
    before_write = [&](size_t) { return row.result; };
    file->finish(1);
    before_write = [](size_t) { return ssize_t{-EIO}; };
    EXPECT_EQ(file->error(), row.reason);
    before_write = {};
    file->close();
    EXPECT_TRUE(std::filesystem::exists(options_.file + ".live")) << "it has what FILE lacks";
    std::filesystem::remove(options_.file + ".live");
  }
}

// The writer before may remove its FILE.live just before its lock is released.
TEST_F(AFileOfEvents, HasALiveFileOfItsOwnName) {
  int locks = 0;
  before_lock = [&] {
    if (locks++ == 0) std::filesystem::remove(options_.file + ".live");
    return 0;
  };
  const auto recording = Recording::start(options_);
  EXPECT_EQ(locks, 3) << "of the removed one, of its successor, and of FILE";
  add_mark(name_id("mark"));
  EXPECT_EQ(read()->num_spans(), 1u);
  EXPECT_TRUE(std::filesystem::exists(options_.file + ".live"));
  EXPECT_EQ(recording->stop()->num_spans(), 1u);
}

// A program that has closed its standard input may get number 0 for a file.
TEST_F(AFileOfEvents, LeavesNoLiveFileEvenAsDescriptorZero) {
  const int input = ::dup(STDIN_FILENO);
  if (input < 0) GTEST_SKIP() << "there is no standard input to close";
  ::close(STDIN_FILENO);
  const auto recording = Recording::start(options_);
  struct stat live, zero;
  const bool has_zero = ::fstat(STDIN_FILENO, &zero) == 0 && ::stat((options_.file + ".live").c_str(), &live) == 0 &&
                        live.st_ino == zero.st_ino;
  add_mark(name_id("mark"));
  EXPECT_EQ(recording->stop()->num_spans(), 1u);
  ::dup2(input, STDIN_FILENO), ::close(input);
  EXPECT_TRUE(has_zero);
  EXPECT_FALSE(std::filesystem::exists(options_.file + ".live"));
  EXPECT_EQ(read()->num_spans(), 1u);
}

TEST_F(AFileOfEvents, ErrorsNameTheReasonWhyItCannotBeLocked) {
  const auto refusal = [&](int error) {
    before_lock = [error] { return error; };
    try {
      Recording::start(options_);
    } catch (const Exception &e) { return std::pair(e.error()->code, e.error()->message); }
    return std::pair(OPD_OK, std::string());
  };
  EXPECT_EQ(refusal(EWOULDBLOCK),
            std::pair(OPD_FAILED_PRECONDITION, concat("another recording is writing ", options_.file,
                                                      "; it has locked ", options_.file, ".live")));
  const auto [code, message] = refusal(ENOLCK);
  EXPECT_EQ(code, OPD_IO);
  EXPECT_TRUE(message.starts_with(concat("cannot lock ", options_.file, ".live: "))) << message;
}

}  // namespace
}  // namespace opd
