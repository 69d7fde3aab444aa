// What a process that is killed leaves of a recording in a file, after each instruction that changes FILE or FILE.live.
// The process is this program again: see record_script(). A thread of it records a script, and the test runs that
// thread by single instructions. When one has changed a file, the test reads the files as they are now, since SIGKILL
// would leave them so, and compares them with what the script has done so far.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "support/recording_files.h"
#include "support/sanitizers.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Trace;

namespace {

// ---- what is recorded

struct Op {
  enum What { kBegin, kEnd, kMark, kCall, kStop } what;
  std::string name{};  // of a range or a mark
  size_t begun = 0;    // kEnd: number of the operation on its thread that began the range
};

struct Script {
  std::string name;
  std::vector<std::vector<Op>> threads;  // one after the other; the last one also stops the recording
  size_t unseen = 0;                     // so many operations of the first thread are run at full speed
  uint64_t max_bytes = 0, max_events = 1 << 20;
  bool is_ring = false;
  bool drops = false;          // some events are not kept, ...
  size_t first = 0, last = 0;  // ... but never the first and the last ones
  size_t least_seals = 0;      // so often at least, FILE changes while the thread is watched
};

constexpr size_t kBlock = 64 << 10;
constexpr size_t kEventsOfABlock = (kBlock - 624) / 64;  // marks have nothing beside their 64 bytes

std::string mark_name(size_t i) { return "mark " + std::to_string(i); }

// Marks that are not watched, then some around the moment at which their block is full.
std::vector<Op> fill_blocks(size_t blocks) {
  std::vector<Op> ops;
  for (size_t i = 0; i < blocks * kEventsOfABlock + 3; ++i) ops.push_back({Op::kMark, mark_name(i)});
  return ops;
}
size_t all_but_the_last(const std::vector<Op> &ops) { return ops.size() - 6; }

std::vector<Script> scripts() {
  std::vector<Script> all;
  all.push_back({"Ranges",
                 {{{Op::kBegin, "outer"},
                   {Op::kBegin, "inner"},
                   {Op::kMark, "a mark"},
                   {Op::kEnd, "", 1},
                   {Op::kBegin, "first of two that overlap"},
                   {Op::kBegin, "second of two that overlap"},
                   {Op::kEnd, "", 4},
                   {Op::kEnd, "", 5},
                   {Op::kBegin, "inner"},
                   {Op::kEnd, "", 8},
                   {Op::kBegin, "open when the recording ends"},
                   {Op::kEnd, "", 0},
                   {Op::kStop}}}});
  all.push_back({"Calls", {{{Op::kCall}, {Op::kBegin, "range"}, {Op::kCall}, {Op::kEnd, "", 1}}}});
  all.push_back({"ThreadsThatEnd",
                 {{{Op::kBegin, "of the first"}, {Op::kEnd, "", 0}, {Op::kMark, "mark"}},
                  {{Op::kBegin, "all that the second does"}},
                  {{Op::kBegin, "of the third"}, {Op::kMark, "mark"}},
                  {{Op::kMark, "of the fourth"}, {Op::kStop}}}});
  std::vector<Op> ops = fill_blocks(1);
  ops.push_back({Op::kStop});
  all.push_back({.name = "AFullBlock", .threads = {ops}, .unseen = all_but_the_last(ops), .least_seals = 2});
  ops = fill_blocks(3);
  all.push_back({.name = "ARing",
                 .threads = {ops},
                 .unseen = all_but_the_last(ops),
                 .max_bytes = 2 * kBlock,
                 .is_ring = true,
                 .drops = true,
                 .last = kEventsOfABlock,
                 .least_seals = 2});
  ops = fill_blocks(2);
  all.push_back({.name = "AFullFile",
                 .threads = {ops},
                 .unseen = all_but_the_last(ops),
                 .max_bytes = kBlock,
                 .drops = true,
                 .first = kEventsOfABlock});
  all.push_back(
      {.name = "TooManyEvents",
       .threads = {{{Op::kBegin, "outer"}, {Op::kMark, "1"}, {Op::kMark, "2"}, {Op::kMark, "3"}, {Op::kStop}}},
       .max_events = 1,
       .drops = true,
       .first = 1});
  // Two of them have room in a block of names.
  all.push_back({"ManyNames",
                 {{{Op::kMark, std::string(16'000, 'a')},
                   {Op::kMark, std::string(16'000, 'b')},
                   {Op::kMark, std::string(16'000, 'c')},
                   {Op::kMark, std::string(15'000, 'd')},
                   {Op::kMark, std::string(2'000, 'e')},
                   {Op::kMark, "f"}}},
                 4});
  return all;
}

// ---- the process that records

struct StepProgress {                  // in memory that it shares with the test
  std::atomic<int> watched;            // the thread to be watched waits; 0: there is none
  std::atomic<int> goes;               // the thread that may go on: the next one may wait before this one has ended
  std::atomic<uint32_t> begun, ended;  // operations, of all threads
};

class Recording {
 public:
  Recording(const Script &script, const char *path)
      : script_(script), profiler_([&] {
          RecordingOptions options(path);
          options.buffer = script.is_ring ? OPD_PROFILER_KEEP_LAST : OPD_PROFILER_KEEP_FIRST;
          options.max_bytes = script.max_bytes;
          options.max_events = script.max_events;
          options.keep_in_file = 1;
          return Profiler(&options);
        }()) {
    define("test.steps.kernel",
           [](const opd_value *args, int32_t, opd_value *out) { check(opd_value_retain(&args[0], out)); });
    vm_ = Vm(Executable::assemble(".func main(x) {\n  %y = call test.steps.kernel(%x)\n  ret %y\n}").to_module());
    vm_.call("main", x_);
    profiler_.start();
  }

  void run(size_t thread, StepProgress &progress) {
    const std::vector<Op> &ops = script_.threads[thread];
    const size_t unseen = thread == 0 ? script_.unseen : 0;
    std::vector<uint64_t> begun(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      if (i == unseen) {
        progress.watched = ::gettid();
        while (progress.goes != ::gettid()) ::usleep(100);
      }
      ++progress.begun;
      if (ops[i].what == Op::kEnd) opd_range_end(begun[ops[i].begun]);
      else if (ops[i].what == Op::kCall) vm_.call("main", x_);
      else if (ops[i].what == Op::kStop) profiler_.stop();
      else if (ops[i].what == Op::kMark) opd_range_mark(opdyno::range_name(ops[i].name.c_str()));
      else begun[i] = opd_range_begin(opdyno::range_name(ops[i].name.c_str()));
      ++progress.ended;
    }
  }

 private:
  const Script &script_;
  const Profiler profiler_;
  Vm vm_;
  const Tensor x_ = floats({1, 2});
};

template <class T>
T *map_shared(const std::string &path, size_t size = sizeof(T)) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  ::close(file);
  return static_cast<T *>(data);
}

// Environment: OPDYNO_TEST_SCRIPT is the number of the script, OPDYNO_TEST_FILE the recording, OPDYNO_TEST_STEPS a file
// of Progress.
[[gnu::constructor(65535)]] void record_script() {
  const char *const file = std::getenv("OPDYNO_TEST_STEPS");
  if (!file) return;
  StepProgress &progress = *map_shared<StepProgress>(file);
  const std::vector<Script> all = scripts();
  const Script &script = all[std::strtoul(std::getenv("OPDYNO_TEST_SCRIPT"), nullptr, 10)];
  Recording recording(script, std::getenv("OPDYNO_TEST_FILE"));
  for (size_t thread = 0; thread < script.threads.size(); ++thread)
    std::thread([&] { recording.run(thread, progress); }).join();
  ::_exit(0);
}

// ---- what must be in the files

// The script takes one turn after the other. Each one shows a span that is open, or ends one.
struct Span {
  std::string text;      // its name and the shapes of its arguments
  size_t opened, ended;  // turns; a span that is never open, or never ends, has kNever
  size_t number;         // of its end among all ends
};
constexpr size_t kNever = SIZE_MAX;

class Expected {
 public:
  explicit Expected(const Script &script) : script_(script) {
    for (const auto &ops : script.threads) {
      std::vector<size_t> begun(ops.size());
      for (size_t i = 0; i < ops.size(); ++i) {
        begun[i] = spans_.size();
        add(ops[i], begun);
        turns_.push_back(turn_);
      }
    }
  }

  size_t turns_after(size_t ops) const { return ops ? turns_[ops - 1] : 0; }

  // Why the trace is not what there is after so many turns; "" if it is.
  std::string difference(size_t turns, const std::vector<std::string> &rows, uint64_t dropped) const {
    size_t row = 0, missing = 0, least = kNever, most = 0, ends = 0;
    for (const Span &span : spans_) {
      const bool has_ended = span.ended <= turns;
      if (!has_ended && span.opened > turns) continue;
      ends += has_ended;
      const std::string &text = has_ended ? span.text : span.text + " open";
      if (row < rows.size() && rows[row] == text) ++row;
      else if (!has_ended) return text + " is missing";
      else ++missing, least = std::min(least, span.number), most = std::max(most, span.number);
    }
    if (row < rows.size()) return rows[row] + " is too much";
    if (missing != dropped)
      return std::to_string(missing) + " are missing, but the trace says " + std::to_string(dropped);
    if (missing == 0) return "";
    if (!script_.drops) return std::to_string(missing) + " are missing";
    if (most - least + 1 != missing || least < script_.first || most + script_.last >= ends)
      return "others are missing than those from " + std::to_string(least) + " to " + std::to_string(most);
    return "";
  }

 private:
  void add(const Op &op, const std::vector<size_t> &begun) {
    switch (op.what) {
      case Op::kBegin:
        return spans_.push_back({op.name, ++turn_, kNever, 0});
      case Op::kEnd:
        return end(spans_[begun[op.begun]]);
      case Op::kMark:
        spans_.push_back({op.name, kNever, kNever, 0});
        return end(spans_.back());
      case Op::kCall:
        spans_.push_back({"main", ++turn_, kNever, 0});
        spans_.push_back({"test.steps.kernel float32[2]", kNever, kNever, 0});
        end(spans_.back());
        return end(spans_[spans_.size() - 2]);
      case Op::kStop:
        return;
    }
  }
  void end(Span &span) { span.ended = ++turn_, span.number = ends_++; }

  const Script &script_;
  std::vector<Span> spans_;    // in the order of their begins
  std::vector<size_t> turns_;  // after each operation
  size_t turn_ = 0, ends_ = 0;
};

// None if no row has it.
Value cell(const opdyno::Report &report, size_t row, const char *column) try {
  return call_value(report, row, column);
} catch (const opdyno::Error &) { return Value(); }

// In the order of their begins, thread by thread.
std::vector<std::string> rows_of(const Trace &trace) {
  const opdyno::Report report = trace.report(OPD_TRACE_EVENTS);
  std::vector<std::string> rows;
  for (int32_t i = 0; i < opd_report_call_count(report.get()); ++i) {
    std::string row = text_value(call_value(report, i, "Name"));
    if (const Value shapes = cell(report, i, "Argument Shapes"); shapes.type() != OPD_NONE)
      if (const std::string text = text_value(shapes); !text.empty()) row += " " + text;
    if (const Value open = cell(report, i, "Open"); open.type() == OPD_INT && open.view().u.int64) row += " open";
    rows.push_back(row);
  }
  return rows;
}

// ---- watching

// The bytes of a file that another process changes, and those it had before.
class WatchedFile {
 public:
  explicit WatchedFile(const std::string &path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    data_ = static_cast<const char *>(::mmap(nullptr, kMost, PROT_READ, MAP_SHARED, file_, 0));
    if (data_ == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    take();
  }
  ~WatchedFile() { ::munmap(const_cast<char *>(data_), kMost), ::close(file_); }
  WatchedFile(const WatchedFile &) = delete;

  bool has_changed() {
    struct stat info {};
    ::fstat(file_, &info);
    size_ = static_cast<size_t>(info.st_size);
    exists_ = info.st_nlink > 0;
    return exists_ != existed_ || size_ != before_.size() || std::memcmp(data_, before_.data(), size_) != 0;
  }
  const std::string &before() const { return before_; }
  std::string now() const { return {data_, size_}; }
  bool exists() const { return exists_; }
  void take() { has_changed(), before_ = now(), existed_ = exists_; }

 private:
  static constexpr size_t kMost = 4 << 20;
  const int file_;
  const char *data_;
  size_t size_ = 0;
  bool exists_ = false, existed_ = false;
  std::string before_;
};

// The address of the thread's next instruction.
uint64_t next_instruction([[maybe_unused]] pid_t thread) {
#if defined(__x86_64__)
  return static_cast<uint64_t>(::ptrace(PTRACE_PEEKUSER, thread, offsetof(user_regs_struct, rip), nullptr));
#else
  return 0;  // the test is skipped
#endif
}

class EachStepOf : public testing::TestWithParam<size_t> {
 protected:
  void watch() {
    const pid_t process = start();
    std::unique_ptr<WatchedFile> file, live;
    for (size_t thread = 0; thread < script.threads.size() && !HasFatalFailure(); ++thread) {
      while (!progress->watched) {
        ::usleep(100);
        ASSERT_EQ(::waitpid(process, nullptr, WNOHANG), 0) << "the writer ended by itself";
      }
      const pid_t watched = progress->watched.exchange(0);
      if (::ptrace(PTRACE_SEIZE, watched, nullptr, PTRACE_O_EXITKILL)) {
        end(process);
        GTEST_SKIP() << "this machine does not permit ptrace: " << std::strerror(errno);
      }
      ::ptrace(PTRACE_INTERRUPT, watched, nullptr, nullptr);
      int status = 0;
      ASSERT_EQ(::waitpid(watched, &status, __WALL), watched);
      if (!file) file = std::make_unique<WatchedFile>(path), live = std::make_unique<WatchedFile>(path + ".live");
      file->take(), live->take();
      check(path);
      progress->goes = watched;
      step(watched, *file, *live);
    }
    end(process);
  }
  static void end(pid_t process) {
    ::kill(process, SIGKILL);
    while (::waitpid(-1, nullptr, __WALL) > 0) {}  // the process ends after the thread that is watched
  }

  pid_t start() {
    ::setenv("OPDYNO_TEST_FILE", path.c_str(), 1);
    ::setenv("OPDYNO_TEST_STEPS", directory.file("progress").c_str(), 1);
    ::setenv("OPDYNO_TEST_SCRIPT", std::to_string(GetParam()).c_str(), 1);
    char name[] = "writer";
    char *arguments[] = {name, nullptr};
    pid_t process = 0;
    EXPECT_EQ(::posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments, environ), 0);
    ::unsetenv("OPDYNO_TEST_STEPS");
    return process;
  }

  // Until the thread has ended.
  void step(pid_t thread, WatchedFile &file, WatchedFile &live) {
    uint64_t before = 0;
    for (int status = 0; !HasFatalFailure();) {
      if (::ptrace(PTRACE_SINGLESTEP, thread, nullptr, nullptr)) return;
      if (::waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status)) return;
      ++num_steps;
      // FILE is not mapped. What changes it is a system call, an instruction of two bytes.
      const uint64_t at = next_instruction(thread);
      if (at - std::exchange(before, at) == 2 && file.has_changed()) check_writes(file, live);
      else if (!live.has_changed()) continue;
      ++num_states;
      check(path);
      file.take(), live.take();
    }
  }

  // A kill may end a write after any page.
  void check_writes(const WatchedFile &file, const WatchedFile &live) {
    constexpr size_t kPage = 4096;
    ++num_writes;
    const std::string copy = directory.file("copy"), now = file.now();
    std::string bytes = file.before();
    if (live.exists()) write_bytes(copy + ".live", live.before());
    else std::filesystem::remove(copy + ".live");
    for (size_t at = 0; at < now.size() && !HasFatalFailure(); at += kPage) {
      const size_t end = std::min(at + kPage, now.size());
      if (bytes.compare(std::min(at, bytes.size()), kPage, now, at, kPage) == 0) continue;
      if (bytes.size() < end) bytes.resize(end);
      bytes.replace(at, end - at, now, at, end - at);
      write_bytes(copy, bytes);
      ++num_states;
      check(copy);
    }
  }

  // The trace has what there is after some turn between those that were over and those that had begun, and not an
  // earlier one than before.
  void check(const std::string &read) try {
    const Trace trace = Trace::load(read.c_str());
    const std::vector<std::string> rows = rows_of(trace);
    turn = std::max(turn, expected.turns_after(progress->ended));
    const size_t last = expected.turns_after(progress->begun);
    std::string problems;
    for (size_t i = turn; i <= last; ++i) {
      const std::string problem = expected.difference(i, rows, trace.dropped());
      if (problem.empty()) return void(turn = i);
      problems += "\nturn " + std::to_string(i) + ": " + problem;
    }
    FAIL() << script.name << ", operation " << progress->ended << ", step " << num_steps << problems;
  } catch (const std::exception &e) { FAIL() << e.what(); }

  const Script script = scripts()[GetParam()];
  const Expected expected{script};
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  StepProgress *const progress = [&] {
    const std::string file = directory.file("progress");
    write_bytes(file, std::string(sizeof(StepProgress), '\0'));
    return map_shared<StepProgress>(file);
  }();
  size_t turn = 0;
  size_t num_steps = 0, num_states = 0, num_writes = 0;
};

TEST_P(EachStepOf, LeavesPublishedEventsReadable) {
#if !defined(__x86_64__) || !defined(NDEBUG)
  GTEST_SKIP() << "needs a release build for x86-64: other code takes too many steps";
#endif
  if (has_sanitizer()) GTEST_SKIP() << "needs a release build: a sanitizer's code takes too many steps";
  // On two processors, each step would wait until the other one wakes up.
  cpu_set_t one, before;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(std::max(::sched_getcpu(), 0)), &one);
  ::sched_getaffinity(0, sizeof before, &before);
  ::sched_setaffinity(0, sizeof one, &one);
  watch();
  ::sched_setaffinity(0, sizeof before, &before);
  if (IsSkipped()) return;
  size_t num_ops = 0;
  for (const auto &ops : script.threads) num_ops += ops.size();
  EXPECT_EQ(progress->ended, num_ops);
  RecordProperty("steps", std::to_string(num_steps));
  RecordProperty("states", std::to_string(num_states));
  EXPECT_GE(num_states, 50u);
  EXPECT_GE(num_writes, script.least_seals);
}

INSTANTIATE_TEST_SUITE_P(Recordings, EachStepOf, testing::Range(size_t{0}, scripts().size()),
                         [](const auto &info) { return scripts()[info.param].name; });

}  // namespace
