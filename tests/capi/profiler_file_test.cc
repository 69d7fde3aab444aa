// Buffers of profilers: budgets, rings, files.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "support/log_messages.h"
#include "support/recording_files.h"
#include "support/sanitizers.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

size_t resident_bytes() {
  size_t whole = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> whole >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

std::vector<std::string> numbers(size_t first, size_t count) {
  std::vector<std::string> found;
  for (size_t i = first; i < first + count; ++i) found.push_back(std::to_string(i));
  return found;
}

TEST(ABudget, KeepsTheFirstEventsAndCountsTheRest) {
  RecordingOptions options;
  options.max_bytes = 2 * kBlock;
  const Trace trace = record(options, [] { add_marks(0, 10'000); });
  const size_t kept = num_spans(trace);
  EXPECT_GE(kept, 1900u) << "two blocks of some thousand";
  EXPECT_LE(kept, 2048u);
  EXPECT_EQ(kept + trace.dropped(), 10'000u);
  EXPECT_EQ(names_of(trace), numbers(0, kept));
}

TEST(EndedThreads, KeepLittleMemoryBeyondTheirEvents) {
  if (has_sanitizer()) GTEST_SKIP() << "sanitizers take memory for each thread, too";
  const Profiler profiler;
  profiler.start();
  for (int i = 0; i < 200; ++i) std::thread([] { add_equal_marks(1); }).join();  // more than the kept chunks
  const size_t before = resident_bytes();
  constexpr size_t kThreads = 1'000;
  for (size_t i = 0; i < kThreads; ++i) std::thread([] { add_equal_marks(1); }).join();
  EXPECT_LE(resident_bytes(), before + kThreads * 40'000) << "a thread's chunk alone has 64 KiB";
  EXPECT_EQ(num_spans(profiler.stop()), 200 + kThreads);
}

TEST(ABudget, IsNotExceededByThreadsThatEnded) {
  RecordingOptions options;
  options.max_bytes = 4 * kBlock;
  const Profiler profiler(&options);
  profiler.start();
  for (int i = 0; i < 10; ++i) std::thread([] { add_equal_marks(1); }).join();
  const size_t before = resident_bytes();
  for (int i = 0; i < 4'000; ++i) std::thread([] { add_equal_marks(1); }).join();
  if (!has_sanitizer()) {  // which take memory for each thread, too
    EXPECT_LE(resident_bytes(), before + (32 << 20)) << "what is known of each would take 14 kB";
  }
  const Trace trace = profiler.stop();
  EXPECT_EQ(num_spans(trace), 4u);
  EXPECT_EQ(trace.dropped(), 4'006u);
}

TEST(ARing, KeepsTheLastEventsAndCountsTheRest) {
  RecordingOptions options;
  options.buffer = OPD_PROFILER_KEEP_LAST;
  options.max_bytes = 3 * kBlock;
  const Trace trace = record(options, [] { add_marks(0, 10'000); });
  const size_t kept = num_spans(trace);
  EXPECT_GE(kept, 2 * 950u) << "three blocks, of which the last one is not full";
  EXPECT_LE(kept, 3 * 1024u);
  EXPECT_EQ(kept + trace.dropped(), 10'000u);
  EXPECT_EQ(names_of(trace), numbers(10'000 - kept, kept));
}

TEST(ARing, TakesRoomFromTheThreadWithTheOldestEvents) {
  RecordingOptions options;
  options.buffer = OPD_PROFILER_KEEP_LAST;
  options.max_bytes = 4 * kBlock;
  const Trace trace = record(options, [] {
    std::thread([] { add_marks(0, 5'000); }).join();
    add_marks(5'000, 50'000);
  });
  EXPECT_EQ(num_spans(trace) + trace.dropped(), 55'000u);
  const auto names = names_of(trace);
  EXPECT_EQ(names.back(), "54999");
  EXPECT_EQ(names.front(), std::to_string(55'000 - names.size())) << "nothing of the thread that ended";
}

TEST(ARing, IsNotFilledByThreadsThatEnded) {
  RecordingOptions options;
  options.buffer = OPD_PROFILER_KEEP_LAST;
  options.max_bytes = 4 * kBlock;
  const Trace trace = record(options, [] {
    for (int i = 0; i < 100; ++i) std::thread([] { add_equal_marks(100); }).join();
    add_equal_marks(1);
  });
  EXPECT_LE(num_spans(trace), 401u);
  EXPECT_GE(num_spans(trace), 301u);
  EXPECT_EQ(num_spans(trace) + trace.dropped(), 10'001u);
}

TEST(ARing, HasASnapshotOfItsLastEventsAndGoesOn) {
  RecordingOptions options;
  options.buffer = OPD_PROFILER_KEEP_LAST;
  options.max_bytes = 2 * kBlock;
  const Profiler profiler(&options);
  profiler.start();
  const uint64_t open = opd_range_begin(opdyno::range_name("open"));
  add_marks(0, 10);
  const Trace early = profiler.snapshot();
  add_marks(10, 5'000);
  const Trace later = profiler.snapshot();
  opd_range_end(open);
  EXPECT_EQ(names_of(early).size(), 11u) << "and what is open";
  EXPECT_EQ(early.dropped(), 0u);
  EXPECT_EQ(names_of(later).back(), "5009");
  EXPECT_EQ(num_spans(later) + later.dropped(), 5'011u);
  EXPECT_EQ(num_spans(early), 11u) << "a snapshot stays as it is";
  EXPECT_EQ(num_spans(profiler.stop()) + later.dropped(), 5'011u);
}

// ---- files

const char *const kNested = R"(
.func inner(x) {
  %y = call test.file.kernel(%x)
  ret %y
}
.func main(x) {
  %y = call inner(%x)
  %z = call test.file.kernel(%y)
  ret %z
})";

Vm nested_vm() {
  define("test.file.kernel", [](const opd_value *args, int32_t, opd_value *out) {
    if (to_floats(args[0]).at(0) < 0) throw std::runtime_error("negative \"input\"\n");
    check(opd_value_retain(&args[0], out));
  });
  return Vm(Executable::assemble(kNested).to_module());
}

void use(const Vm &vm) {
  const Range outer("outer");
  for (int64_t i = 1; i < 40; ++i) vm.call("main", floats(std::vector<float>(static_cast<size_t>(i)), {1, i}));
  EXPECT_THROW(vm.call("main", floats({-1})), opdyno::Error);
  opdyno::mark("a mark");
}

// Of a report, all but times, which two recordings convert by lines of their own.
std::vector<std::string> event_rows(const Trace &trace) {
  const opdyno::Report report = trace.report(OPD_TRACE_EVENTS);
  std::vector<std::string> rows;
  for (int32_t i = 0; i < opd_report_call_count(report.get()); ++i) {
    std::string row;
    for (const char *column : {"Name", "Argument Shapes", "Kind", "Thread", "Error"})
      if (const Value value = call_value(report, i, column); value.type() != OPD_NONE) row += text_value(value) + "|";
    for (const char *column : {"Thread ID", "Depth", "Open", "Parent"})
      if (const Value value = call_value(report, i, column); value.type() == OPD_INT)
        row += std::to_string(value.view().u.int64) + "|";
    rows.push_back(row);
  }
  return rows;
}

TEST(AFile, HasTheSameEventsAsMemory) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const Vm vm = nested_vm();
  RecordingOptions in_file(path.c_str()), in_memory;
  in_file.all_calls = in_memory.all_calls = in_file.profile_memory = in_memory.profile_memory = 1;
  const Profiler filed(&in_file), kept(&in_memory);
  filed.start();
  kept.start();
  use(vm);
  std::thread([&] { use(vm); }).join();
  const uint64_t open = opd_range_begin(opdyno::range_name("open"));
  const Trace expected = kept.stop(), given = filed.stop(), loaded = Trace::load(path.c_str());
  opd_range_end(open);
  const auto rows = event_rows(expected);
  EXPECT_GT(rows.size(), 2 * 39 * 4u);
  EXPECT_EQ(event_rows(given), rows);
  EXPECT_EQ(event_rows(loaded), rows);
  EXPECT_EQ(loaded.size(), expected.size());
  EXPECT_EQ(loaded.dropped(), 0u);
  EXPECT_EQ(loaded.chrome(), given.chrome());
  EXPECT_NE(loaded.chrome().find("negative \\\"input\\\""), std::string::npos);
  EXPECT_NE(loaded.chrome().find("[memory]"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path + ".live"));
}

// A thread that hangs in its first range is what one looks for after a crash.
TEST(AFile, ShowsAThreadThatHasOnlyBegunARange) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  profiler.start();
  std::thread([] { static_cast<void>(opd_range_begin(opdyno::range_name("of a thread that ended"))); }).join();
  const uint64_t open = opd_range_begin(opdyno::range_name("under way"));
  const std::vector<std::string> expected{"of a thread that ended", "under way"};
  EXPECT_EQ(names_of(Trace::load(path.c_str())), expected) << "as after a crash";
  EXPECT_EQ(names_of(profiler.stop()), expected);
  EXPECT_EQ(names_of(Trace::load(path.c_str())), expected);
  opd_range_end(open);
}

TEST(AFile, HasTimesOnTheSameLine) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions in_file(path.c_str()), in_memory;
  const Profiler filed(&in_file), kept(&in_memory);
  filed.start();
  kept.start();
  { const Range range("measured"); }
  const auto times = [](const Trace &trace) {
    const std::string json = trace.chrome();
    const size_t at = json.find("\"measured\"");
    return std::stod(json.substr(json.find("\"ts\":", at) + 5)) + std::stod(json.substr(json.find("\"dur\":", at) + 6));
  };
  const double expected = times(kept.stop());
  EXPECT_NEAR(times(filed.stop()), expected, 1000) << "microseconds, of Unix time or since the same origin";
}

TEST(AFile, IsNoLargerThanItsEventsNeed) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions options(path.c_str());
  options.keep_in_file = 1;
  const Profiler profiler(&options);
  profiler.start();
  for (int i = 0; i < 4; ++i) std::thread([] { add_equal_marks(50'000); }).join();
  EXPECT_FALSE(profiler.stop()) << "it is left in the file";
  EXPECT_LE(std::filesystem::file_size(path), 200'000 / 950 * kBlock + 20 * kBlock);
  const Trace trace = Trace::load(path.c_str());
  EXPECT_EQ(num_spans(trace), 200'000u);
  EXPECT_EQ(trace.dropped(), 0u);
}

TEST(RingFile, KeepsTheLastEvents) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions options(path.c_str());
  options.buffer = OPD_PROFILER_KEEP_LAST;
  options.max_bytes = 3 * kBlock;
  const Trace trace = record(options, [] { add_marks(0, 20'000); });
  const size_t kept = num_spans(trace);
  EXPECT_GE(kept, 2 * 950u);
  EXPECT_LE(kept, 3 * 1024u);
  EXPECT_EQ(kept + trace.dropped(), 20'000u);
  EXPECT_EQ(names_of(trace), numbers(20'000 - kept, kept));
}

TEST(RingFile, StaysNearItsSizeLimit) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions options(path.c_str());
  options.buffer = OPD_PROFILER_KEEP_LAST;
  options.max_bytes = 3 * kBlock;
  record(options, [] { add_equal_marks(200'000); });
  EXPECT_LE(std::filesystem::file_size(path), 100 * kBlock) << "3 blocks, and the names; the events would take 200";
  options.max_bytes = 1;
  const Trace trace = record(options, [] { add_equal_marks(5'000); });
  EXPECT_GE(num_spans(trace), 1u) << "there is one block at least";
  EXPECT_EQ(num_spans(trace) + trace.dropped(), 5'000u);
}

TEST(AFile, TakesNoMemoryForEvents) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions options(path.c_str());
  options.buffer = OPD_PROFILER_KEEP_LAST;
  options.max_bytes = 3 * kBlock;
  const Profiler profiler(&options);
  profiler.start();
  add_equal_marks(5'000);
  const size_t before = resident_bytes();
  add_equal_marks(1'000'000);
  EXPECT_LE(resident_bytes(), before + (32 << 20)) << "the events would take 64 MB";
}

TEST(AFile, WithoutFurtherRoomHasTheFirstEvents) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions options(path.c_str());
  options.max_bytes = 3 * kBlock;
  const Trace trace = record(options, [] { add_marks(0, 20'000); });
  const size_t kept = num_spans(trace);
  EXPECT_GE(kept, 3 * 900u);
  EXPECT_EQ(kept + trace.dropped(), 20'000u);
  EXPECT_EQ(names_of(trace), numbers(0, kept));
}

TEST(AFile, CountsEventsOfThreadsThatLeftNothing) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions options(path.c_str());
  options.buffer = OPD_PROFILER_KEEP_LAST;
  options.max_bytes = 2 * kBlock;
  const Trace trace = record(options, [] {
    for (int i = 0; i < 50; ++i) std::thread([] { add_equal_marks(10); }).join();
  });
  EXPECT_EQ(num_spans(trace), 20u);
  EXPECT_EQ(trace.dropped(), 480u);
}

TEST(AFile, ReusesBlocksOfThreadsThatEnded) {
  const ScratchDirectory directory;
  const std::string path = directory.file("threads");
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  profiler.start();
  const auto run_thread = [] { std::thread([] { add_equal_marks(1); }).join(); };
  run_thread();
  const uint64_t before = std::filesystem::file_size(path + ".live");
  for (int i = 0; i < 100; ++i) run_thread();
  EXPECT_EQ(std::filesystem::file_size(path + ".live"), before) << "one of them runs at a time";
  EXPECT_EQ(num_spans(profiler.stop()), 101u);
}

TEST(AFile, HasOneWriter) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options), second(&options);
  profiler.start();
  add_marks(0, 1);
  expect_error(opd_profiler_start(second.get()), OPD_FAILED_PRECONDITION, "another recording is writing " + path);
  add_marks(1, 1);
  EXPECT_EQ(num_spans(profiler.stop()), 2u);
  second.start();
  EXPECT_EQ(num_spans(second.stop()), 0u);
  profiler.start();
  add_marks(0, 1);
  EXPECT_EQ(num_spans(profiler.stop()), 1u) << "each recording writes the file anew";
}

TEST(AFile, MustBeARegularFile) {
  const ScratchDirectory directory;
  const auto start = [](const std::string &path) {
    const RecordingOptions options(path.c_str());
    return opd_profiler_start(Profiler(&options).get());
  };
  expect_error(start(directory.file("")), OPD_IO, "recordings.");
  expect_error(start(directory.file("no/such")), OPD_NOT_FOUND, "no/such");
  std::filesystem::create_directory(directory.file("there"));
  expect_error(start(directory.file("there")), OPD_IO, "there");
  ::symlink("/dev/null", directory.file("null").c_str());
  expect_error(start(directory.file("null")), OPD_INVALID_ARGUMENT, "not a regular file");
  EXPECT_FALSE(std::filesystem::exists(directory.file("null.live"))) << "nothing is left behind";
  RecordingOptions options("");
  opd_profiler *profiler = nullptr;
  expect_error(opd_profiler_create(&options, &profiler), OPD_INVALID_ARGUMENT, "file must not be empty");
  options = RecordingOptions();
  options.keep_in_file = 1;
  expect_error(opd_profiler_create(&options, &profiler), OPD_INVALID_ARGUMENT, "keep_in_file needs a file");
  options.keep_in_file = 0;
  options.buffer = static_cast<opd_profiler_buffer>(2);
  expect_error(opd_profiler_create(&options, &profiler), OPD_INVALID_ARGUMENT,
               "buffer must be a kind of buffer, but is 2");
}

TEST(AFile, IsRefusedIfItIsNoRecording) {
  const ScratchDirectory directory;
  opd_trace *trace = nullptr;
  expect_error(opd_trace_load(directory.file("none").c_str(), &trace), OPD_NOT_FOUND, "none");
  write_bytes(directory.file("empty"), "");
  expect_error(opd_trace_load(directory.file("empty").c_str(), &trace), OPD_BAD_FORMAT, "is not a recording");
  write_bytes(directory.file("text"), std::string(200'000, 'x'));
  expect_error(opd_trace_load(directory.file("text").c_str(), &trace), OPD_BAD_FORMAT, "is not a recording");
  expect_error(opd_trace_load(directory.file("").c_str(), &trace), OPD_BAD_FORMAT);
  expect_error(opd_trace_load(nullptr, &trace), OPD_INVALID_ARGUMENT);
}

// One damaged byte costs one block of 64 KiB, whichever it is.
TEST(AFile, LosesOneBlockForADamagedByte) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  constexpr size_t kMade = 6'000;
  record(options, [] { add_marks(0, kMade); });
  const std::string whole = bytes_of(path);
  uint64_t random = 1;
  for (size_t i = 0; i < 100; i += 100 / static_cast<size_t>(rounds(100))) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    std::string damaged = whole;
    const size_t place = i < 30 ? i * 10 : (random >> 20) % whole.size();  // first in what is said of the recording
    damaged[place] ^= static_cast<char>(1 + (random >> 60) % 15);
    write_bytes(path, damaged);
    const Trace trace = Trace::load(path.c_str());
    ASSERT_EQ(num_spans(trace) + trace.dropped(), kMade);
    ASSERT_LE(trace.dropped(), 1024u);
    const auto names = names_of(trace);
    ASSERT_EQ(std::count(names.begin(), names.end(), "?"), 0) << "names are there twice";
  }
}

TEST(AFile, KeepsItsWholeBlocksWhenTruncated) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  record(options, [] { add_equal_marks(5'000); });
  const std::string whole = bytes_of(path);
  for (size_t size = 1000; size < whole.size(); size += 30'000) {
    write_bytes(path, whole.substr(0, size));
    const LogMessages log;
    const Trace trace = Trace::load(path.c_str());
    EXPECT_EQ(log.text(), path + " is cut short: it has " + std::to_string(size) + " of " +
                              std::to_string(whole.size()) + " bytes, so events and names are missing\n");
    const size_t whole_blocks = std::max<size_t>(size / kBlock, 1) - 1;  // without that of the description
    ASSERT_GE(num_spans(trace), std::min<size_t>(whole_blocks * 950, 5'000));
    ASSERT_LE(num_spans(trace), whole_blocks * 1024);
  }
}

TEST(AFile, IsRefusedIfItIsAFolderOrAPipe) {
  const ScratchDirectory directory;
  const std::string pipe = directory.file("pipe"), folder = directory.file("folder");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_directory(folder);
  for (const std::string &path : {pipe, folder}) {
    opd_trace *trace = nullptr;
    expect_error(opd_trace_load(path.c_str(), &trace), OPD_BAD_FORMAT,
                 path + " is not a recording: it is not a regular file");
  }
}

TEST(AFile, IsNotWrittenByForkedChildren) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  profiler.start();
  add_marks(0, 10);
  const uint64_t open = opd_range_begin(opdyno::range_name("across the fork"));
  const pid_t child = ::fork();
  if (child == 0) {
    add_marks(1000, 5'000);
    const bool starts_threads = !has_thread_sanitizer();  // which lets a forked child start none
    if (starts_threads) std::thread([] { add_marks(1000, 10); }).join();
    opd_range_end(open);
    opd_trace *trace = nullptr;
    opd_error *error = opd_profiler_stop(profiler.get(), &trace);
    if (error || !trace) ::_exit(1);
    const size_t least = starts_threads ? 5'011 : 5'001;
    ::_exit(num_spans(Trace(trace)) >= least ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child has what its memory holds";
  EXPECT_TRUE(std::filesystem::exists(path + ".live"));
  add_marks(10, 10);
  opd_range_end(open);
  const Trace trace = profiler.stop();
  EXPECT_EQ(num_spans(trace), 21u);
  EXPECT_EQ(trace.dropped(), 0u);
}

std::string many(const std::string &text, size_t count) {
  std::string texts;
  while (count-- > 0) texts += text;
  return texts;
}

TEST(AFile, LeavesOutShapesLargerThanABlock) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  const Vm vm = nested_vm();
  const Trace trace = record(options, [&] { vm.call("main", floats({1}, std::vector<int64_t>(9'000, 1))); });
  EXPECT_EQ(num_spans(trace), 4u) << "the calls are there without their shapes";
  EXPECT_EQ(trace.dropped(), 0u);
}

// The names are looked for in FILE.live, as after a crash: no event has them.
TEST(AFile, HasTheNamesOfStacks) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions options(path.c_str());
  options.with_stack = 1;
  const Profiler profiler(&options);
  profiler.start();
  const uint32_t mark = opdyno::range_name("mark");
  const opd_stack_frame frame{opdyno::range_name("answer_requests"), opdyno::range_name("serve.script"), 12};
  opd_stack_push(&frame, 1);
  opd_range_mark(mark);
  opd_stack_pop();
  const opdyno::Report report = Trace::load(path.c_str()).report(OPD_TRACE_EVENTS);
  EXPECT_NE(text_value(call_value(report, 0, "Stack")).find("serve.script(12): answer_requests"), std::string::npos);
}

TEST(AFile, LeavesOutTextsLargerThanABlock) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const RecordingOptions options(path.c_str());
  define("test.file.fails",
         [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error(std::string(100'000, 'e')); });
  const Vm vm(Executable::assemble(".func main(x) {\n  call test.file.fails(%x)\n  ret %x\n}").to_module());
  const Trace trace = record(options, [&] {
    EXPECT_THROW(vm.call("main", floats({1})), opdyno::Error);
    opdyno::mark(std::string(50'000, 'n').c_str());
    opdyno::mark(("n" + many("\u00e4", 10'000)).c_str());
    add_marks(0, 1);
  });
  const auto names = names_of(trace);
  EXPECT_EQ(names.size(), 5u) << "the call is there without its message";
  EXPECT_EQ(std::count(names.begin(), names.end(), std::string(16 << 10, 'n')), 1) << "cut";
  EXPECT_EQ(std::count(names.begin(), names.end(), "n" + many("\u00e4", 8191)), 1) << "not within a character";
  EXPECT_EQ(trace.dropped(), 0u);
}

}  // namespace
