// Stacks of the host: which functions called what a profiler records.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/failure.h"
#include "support/report_test.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

// Exported, so that their names are known also where libdw is not installed.
#define NAMED_FUNCTION extern "C" __attribute__((noinline, visibility("default")))

NAMED_FUNCTION void stack_test_inner(const std::function<void()> &work) {
  work();
  asm volatile("");  // the call is no jump
}
NAMED_FUNCTION void stack_test_outer(const std::function<void()> &work) {
  stack_test_inner(work);
  asm volatile("");
}
constexpr int kFirstLine = __LINE__;
NAMED_FUNCTION void stack_test_range(const char *name) {
  opd_range_push(name);
  usleep(10);  // stacks are only written of what took a time
  opd_range_pop();
}
constexpr int kLastLine = __LINE__;
// A wrapper of a binding, and a function of more arguments than there are registers for them.
NAMED_FUNCTION void stack_test_wide(const char *name, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  stack_test_range(name);
}
NAMED_FUNCTION void stack_test_wrapper(const opd_stack_frame *frame, const char *name) {
  opd_stack_push(frame, 1);
  stack_test_wide(name, 1, 2, 3, 4, 5, 6, 7);
  opd_stack_pop();
}

namespace {

Profiler with_stack() {
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.with_stack = 1;
  return Profiler(&options);
}

Vm stack_vm() {
  define("test.stack.kernel", [](const opd_value *, int32_t, opd_value *) { usleep(10); });
  define("test.stack.calls_back",
         [](const opd_value *, int32_t, opd_value *) { stack_test_inner([] { stack_test_range("in the kernel"); }); });
  return Vm(Executable::assemble(".func main(x) {\n  call test.stack.kernel(%x)\n  call test.stack.calls_back(%x)\n"
                                 "  ret %x\n}")
                .to_module());
}

// The functions of the first row of this name, from the innermost on.
std::vector<std::string> stack_of(const Report &report, const std::string &name) {
  std::vector<std::string> frames;
  const auto columns = report.columns();
  if (std::find(columns.begin(), columns.end(), "Stack") == columns.end()) return frames;
  for (size_t row = 0; row < report.count(OPD_REPORT_CALLS); ++row) {
    if (text_value(call_value(report, row, "Name")) != name) continue;
    const Value stack = call_value(report, row, "Stack");
    if (stack.type() == OPD_NONE) return frames;
    std::stringstream text(text_value(stack));
    for (std::string frame; std::getline(text, frame, ';');) frames.push_back(frame);
    return frames;
  }
  ADD_FAILURE() << "no row " << name;
  return frames;
}
bool ends_with(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
// The place of the function among the frames; their number if it is not there.
size_t place_of(const std::vector<std::string> &frames, const std::string &function) {
  size_t place = 0;
  while (place < frames.size() && !ends_with(frames[place], ": " + function)) ++place;
  return place;
}

struct Frame {
  const char *function, *file;
  uint32_t line;
};
// As a binding does it around what it calls.
__attribute__((noinline)) void within_script(const std::vector<Frame> &frames, const std::function<void()> &work) {
  std::vector<opd_stack_frame> named;
  for (const Frame &frame : frames)
    named.push_back({opd_range_name(frame.function), opd_range_name(frame.file), frame.line});
  opd_stack_push(named.data(), static_cast<int32_t>(named.size()));
  work();
  opd_stack_pop();
}
const std::vector<Frame> kScript = {{"leaf", "script.py", 12}, {"root", "dir/main.py", 3}};

TEST(HostStack, HasTheFunctionsThatCalledFromTheInnermostOn) {
  const Profiler profiler = with_stack();
  profiler.start();
  stack_test_outer([] { stack_test_range("marked"); });
  const auto frames = stack_of(profiler.stop().report(OPD_TRACE_EVENTS), "marked");
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(place_of(frames, "stack_test_range"), 0u) << "without those of this library: " << frames[0];
  const size_t inner = place_of(frames, "stack_test_inner"), outer = place_of(frames, "stack_test_outer");
  ASSERT_LT(inner, frames.size());
  EXPECT_EQ(outer, inner + 1);
}

TEST(HostStack, IsInheritedByTheOperatorsOfARun) {
  const Vm vm = stack_vm();
  const Profiler profiler = with_stack();
  profiler.start();
  stack_test_outer([&] { vm.call("main", floats({1})); });
  const Trace trace = profiler.stop();
  const Report events = trace.report(OPD_TRACE_EVENTS);
  const auto run = stack_of(events, "main");
  EXPECT_LT(place_of(run, "stack_test_outer"), run.size());
  EXPECT_EQ(stack_of(events, "test.stack.kernel"), run);
  const auto range = stack_of(events, "in the kernel");
  EXPECT_EQ(place_of(range, "stack_test_range"), 0u) << "it has a stack of its own";
  EXPECT_LT(place_of(range, "stack_test_inner"), place_of(range, "stack_test_outer"));
  EXPECT_GT(range.size(), run.size());

  // The functions of the host, then that of the program, then the operator; each function once.
  const std::string lines = trace.write(OPD_TRACE_STACKS);
  const std::string kernel = lines.substr(0, lines.find(";test.stack.calls_back;"));
  const std::string line = kernel.substr(kernel.rfind('\n') + 1);
  EXPECT_LT(line.find("stack_test_outer"), line.find("stack_test_inner"));
  EXPECT_LT(line.find("stack_test_inner"), line.find(";main"));
  EXPECT_EQ(line.find("stack_test_outer"), line.rfind("stack_test_outer"));
  EXPECT_NE(lines.find(";test.stack.calls_back;"), std::string::npos);
  EXPECT_NE(lines.find("stack_test_range;in_the_kernel "), std::string::npos);
}

TEST(HostStack, IsOnlyThereIfAskedFor) {
  const Profiler without, with = with_stack();
  without.start();
  stack_test_range("before");
  with.start();
  stack_test_range("both");
  const Trace plain = without.stop(), full = with.stop();
  EXPECT_TRUE(stack_of(plain.report(OPD_TRACE_EVENTS), "both").empty()) << "though another recorded it";
  EXPECT_FALSE(stack_of(full.report(OPD_TRACE_EVENTS), "both").empty());
  EXPECT_EQ(plain.chrome().find("Call stack"), std::string::npos);
  EXPECT_EQ(plain.write(OPD_TRACE_STACKS).find("stack_test_range"), std::string::npos);
  EXPECT_EQ(opd_stack_is_recorded(), 0);
  with.start();
  EXPECT_EQ(opd_stack_is_recorded(), 1);
  const Trace again = with.stop();
  EXPECT_EQ(opd_stack_is_recorded(), 0);
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.with_stack = 2;
  opd_profiler *made = nullptr;
  EXPECT_EQ(failure(opd_profiler_create(&options, &made)).message, "with_stack must be 0 or 1, but is 2");
}

TEST(HostStack, IsStillRecordedWhenAnotherProfilerEnds) {
  const Profiler first = with_stack(), second = with_stack();
  first.start();
  second.start();
  const Trace early = first.stop();
  EXPECT_EQ(opd_stack_is_recorded(), 1);
  stack_test_range("later");
  EXPECT_FALSE(stack_of(second.stop().report(OPD_TRACE_EVENTS), "later").empty());
}

TEST(HostStack, MayBeAskedForWhileThreadsRun) {
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const std::string name = "range " + std::to_string(i);
      while (!ends) within_script({{name.c_str(), "t.py", i + 1}}, [&] { stack_test_range(name.c_str()); });
    });
  for (int round = 0; round < 30; ++round) {
    const Profiler profiler = with_stack();
    profiler.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Report events = profiler.stop().report(OPD_TRACE_EVENTS);
    for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row) {
      const std::string name = text_value(call_value(events, row, "Name")), end = ": " + name + ";";
      const auto frames = stack_of(events, name);
      EXPECT_TRUE(frames.empty() || ends_with(frames.back() + ";", end)) << name;
    }
  }
  ends = true;
  for (auto &thread : threads) thread.join();
}

TEST(HostStack, HasTheScriptInsteadOfItsInterpreter) {
  const Profiler profiler = with_stack();
  profiler.start();
  stack_test_outer([] {
    within_script(kScript, [] {
      const Range direct("direct");
      stack_test_inner([] { const Range native("native"); });
    });
    stack_test_range("after");
  });
  const Report events = profiler.stop().report(OPD_TRACE_EVENTS);
  const auto native = stack_of(events, "native");
  ASSERT_GE(native.size(), 3u);
  EXPECT_EQ(native[native.size() - 2], "script.py(12): leaf");
  EXPECT_EQ(native[native.size() - 1], "dir/main.py(3): root");
  EXPECT_LT(place_of(native, "stack_test_inner"), native.size()) << "what the script called";
  EXPECT_EQ(place_of(native, "stack_test_outer"), native.size()) << "what called the script";
  const auto after = stack_of(events, "after");
  EXPECT_EQ(place_of(after, "leaf"), after.size());
  EXPECT_LT(place_of(after, "stack_test_outer"), after.size());
}

TEST(HostStack, OmitsAWrapperThatPassesArgumentsInMemory) {
  const Profiler profiler = with_stack();
  profiler.start();
  const opd_stack_frame script{opd_range_name("leaf"), opd_range_name("script.py"), 12};
  stack_test_outer([&] { stack_test_wrapper(&script, "wide"); });
  const auto frames = stack_of(profiler.stop().report(OPD_TRACE_EVENTS), "wide");
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(place_of(frames, "stack_test_range"), 0u);
  EXPECT_EQ(place_of(frames, "stack_test_wide"), 1u);
  EXPECT_EQ(frames[2], "script.py(12): leaf");
}

TEST(HostStack, OmitsFramesOfTheEnclosingSpan) {
  const Profiler profiler = with_stack();
  profiler.start();
  uint64_t outer = 0;
  within_script({{"a", "s.py", 5}, {"root", "s.py", 9}}, [&] { outer = opd_range_begin(opd_range_name("outer")); });
  within_script({{"b", "s.py", 1}, {"a", "s.py", 7}, {"root", "s.py", 9}}, [] { stack_test_range("inner"); });
  opd_range_end(outer);
  const Trace trace = profiler.stop();
  const std::string lines = trace.write(OPD_TRACE_STACKS);
  const size_t end = lines.find(";inner ");
  ASSERT_NE(end, std::string::npos) << lines;
  const std::string path = lines.substr(0, end), line = path.substr(path.rfind('\n') + 1);
  EXPECT_EQ(line.substr(0, 25), "s.py(9):_root;s.py(5):_a;");
  EXPECT_NE(line.find(";outer;s.py(1):_b;"), std::string::npos) << line;
  EXPECT_EQ(line.find("s.py(7)"), std::string::npos) << "the same function, at another line";
}

TEST(HostStack, HasScriptsThatCallEachOther) {
  const Profiler profiler = with_stack();
  profiler.start();
  constexpr int kDepth = 20;
  const std::function<void(int)> descend = [&](int depth) {
    const std::string name = "level " + std::to_string(depth);
    within_script({{"f", "levels.py", static_cast<uint32_t>(depth + 1)}}, [&] {
      if (depth + 1 < kDepth) descend(depth + 1);
      stack_test_range(name.c_str());
    });
  };
  descend(0);
  opd_stack_pop();  // one too many does nothing
  stack_test_range("outside");
  std::thread([] { stack_test_range("elsewhere"); }).join();
  const Report events = profiler.stop().report(OPD_TRACE_EVENTS);
  for (int depth = 0; depth < 8; ++depth)
    EXPECT_EQ(stack_of(events, "level " + std::to_string(depth)).back(),
              "levels.py(" + std::to_string(depth + 1) + "): f");
  EXPECT_EQ(stack_of(events, "level 19").back(), "levels.py(8): f") << "deeper ones are not kept";
  for (const char *name : {"outside", "elsewhere"}) {
    const auto frames = stack_of(events, name);
    EXPECT_EQ(place_of(frames, "f"), frames.size()) << name;
  }
}

TEST(HostStack, AcceptsInvalidFramesAndCounts) {
  const Profiler profiler = with_stack();
  profiler.start();
  const opd_stack_frame odd[] = {{UINT32_MAX, UINT32_MAX, UINT32_MAX}, {opd_range_name("a;b"), opd_range_name(""), 0}};
  opd_stack_push(odd, 2);
  stack_test_range("odd");
  opd_stack_pop();
  opd_stack_push(nullptr, 5);
  stack_test_range("null");
  opd_stack_pop();
  opd_stack_push(odd, -1);
  stack_test_range("negative");
  opd_stack_pop();
  const std::vector<opd_stack_frame> many(1000, opd_stack_frame{opd_range_name("deep"), opd_range_name("d.py"), 1});
  opd_stack_push(many.data(), static_cast<int32_t>(many.size()));
  stack_test_range("many");
  opd_stack_pop();
  const Trace trace = profiler.stop();
  const Report events = trace.report(OPD_TRACE_EVENTS);
  const auto frames = stack_of(events, "odd");
  ASSERT_GE(frames.size(), 2u);
  EXPECT_EQ(frames[frames.size() - 2], "?(2097151): ?");
  EXPECT_EQ(frames[frames.size() - 1], ": a,b") << "the separator is in no text";
  EXPECT_FALSE(stack_of(events, "null").empty());
  EXPECT_FALSE(stack_of(events, "negative").empty());
  const auto deep = stack_of(events, "many");
  EXPECT_LE(deep.size(), 256u);
  EXPECT_EQ(deep.back(), "d.py(1): deep");
}

TEST(HostStack, IsRecordedForARangeThatIsStillOpen) {
  const Profiler profiler = with_stack();
  profiler.start();
  uint64_t range = 0;
  within_script(kScript, [&] { range = opd_range_begin(opd_range_name("open")); });
  const auto frames = stack_of(profiler.stop().report(OPD_TRACE_EVENTS), "open");
  opd_range_end(range);
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back(), "dir/main.py(3): root");
}

TEST(HostStack, GroupsSpansOfOneName) {
  const Profiler profiler = with_stack();
  profiler.start();
  const auto in = [](const char *function, const char *root) {
    within_script({{function, "s.py", 1}, {root, "s.py", 9}}, [] { const Range range("work"); });
  };
  in("a", "root"), in("a", "other root"), in("b", "root");
  const Trace trace = profiler.stop();
  const auto counts = [&](int32_t depth) {
    auto options = opdyno::defaults(opd_trace_write_options_init);
    options.group_by_stack_n = depth;
    const Report report = trace.averages(&options);
    std::vector<double> found;
    for (size_t row = 0; row < report.count(OPD_REPORT_CALLS); ++row)
      found.push_back(number_of(call_value(report, row, "Count")));
    return found;
  };
  // The native functions between the range and the script are the same.
  EXPECT_EQ(counts(0), (std::vector<double>{3}));
  const size_t native = stack_of(trace.report(OPD_TRACE_EVENTS), "work").size() - 2;
  EXPECT_EQ(counts(static_cast<int32_t>(native) + 1), (std::vector<double>{2, 1}));
  EXPECT_EQ(counts(static_cast<int32_t>(native) + 2), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(counts(1000), (std::vector<double>{1, 1, 1}));
  auto options = opdyno::defaults(opd_trace_write_options_init);
  options.group_by_stack_n = -1;
  opd_report *refused = nullptr;
  EXPECT_EQ(failure(opd_trace_to_report(trace.get(), OPD_TRACE_KEY_AVERAGES, &options, &refused)).message,
            "group_by_stack_n must not be negative, but is -1");
}

TEST(HostStack, IsAColumnOfTheTable) {
  const Profiler profiler = with_stack();
  profiler.start();
  uint64_t range = 0;
  within_script({{"leaf", "a_long_name_of_a_script.py", 12}, {"root", "s.py", 9}},
                [&] { range = opd_range_begin(opd_range_name("work")); });
  opd_range_end(range);
  const Trace trace = profiler.stop();
  EXPECT_EQ(trace.table().find("Source Location"), std::string::npos) << "only if it is grouped by, as in torch";
  auto options = opdyno::defaults(opd_trace_write_options_init);
  options.group_by_stack_n = 1000;
  options.max_src_column_width = 20;
  std::stringstream table(trace.table(&options));
  std::vector<std::string> lines;
  for (std::string line; std::getline(table, line);) lines.push_back(line);
  const size_t frames = stack_of(trace.report(OPD_TRACE_EVENTS), "work").size();
  ASSERT_EQ(lines.size(), 3 + frames + 1 + 2) << "a line for each function and an empty one";
  const size_t column = lines[1].find("Source Location");
  ASSERT_NE(column, std::string::npos);
  EXPECT_EQ(lines[1].size(), column + 20 + 2);
  EXPECT_NE(lines[3].find(" work "), std::string::npos);
  EXPECT_EQ(lines[2 + frames].substr(column), "s.py(9): root" + std::string(9, ' ')) << "texts begin at the left";
  EXPECT_EQ(lines[1 + frames].substr(column), "...ript.py(12): leaf  ");
  EXPECT_EQ(lines[3 + frames], std::string(lines[1].size(), ' '));
  for (size_t i = 3; i < 3 + frames + 1; ++i) EXPECT_EQ(lines[i].size(), lines[1].size()) << i;
}

TEST(HostStack, IsWrittenToEachFormatThatSupportsStacks) {
  const Profiler profiler = with_stack();
  profiler.start();
  uint64_t range = 0;
  within_script(kScript, [&] {
    range = opd_range_begin(opd_range_name("work"));
    opd_range_mark(opd_range_name("moment"));
    usleep(10);
  });
  opd_range_end(range);
  const Trace trace = profiler.stop();
  const std::string chrome = trace.chrome();
  const size_t work = chrome.find("\"name\":\"work\""), moment = chrome.find("\"name\":\"moment\"");
  ASSERT_NE(work, std::string::npos);
  ASSERT_NE(moment, std::string::npos);
  for (const size_t at : {work, moment}) {
    const std::string event = chrome.substr(at, chrome.find('\n', at) - at);
    EXPECT_NE(event.find("\"Call stack\":\""), std::string::npos) << event;
    EXPECT_NE(event.find("script.py(12): leaf;dir/main.py(3): root;\""), std::string::npos) << event;
  }
  const std::string speedscope = trace.write(OPD_TRACE_SPEEDSCOPE);
  EXPECT_NE(speedscope.find("{\"name\":\"leaf\",\"file\":\"script.py\",\"line\":12}"), std::string::npos) << speedscope;
  EXPECT_NE(speedscope.find("{\"name\":\"work\"}"), std::string::npos);
  EXPECT_NE(trace.write(OPD_TRACE_STACKS).find("dir/main.py(3):_root;script.py(12):_leaf;"), std::string::npos);
  const std::string flame = trace.write(OPD_TRACE_FLAME_SVG);
  EXPECT_NE(flame.find("<title>dir/main.py(3): root\n"), std::string::npos);
  EXPECT_NE(trace.write(OPD_TRACE_PERFETTO).find("script.py(12): leaf;dir/main.py(3): root;"), std::string::npos);
}

TEST(HostStack, HasFilesAndLinesWhereDebugInformationIs) {
  if (!dlopen("libdw.so.1", RTLD_NOW)) GTEST_SKIP() << "libdw is not installed";
  const Profiler profiler = with_stack();
  profiler.start();
  stack_test_range("marked");
  const auto frames = stack_of(profiler.stop().report(OPD_TRACE_EVENTS), "marked");
  ASSERT_FALSE(frames.empty());
  const size_t bracket = frames[0].find("(");
  EXPECT_TRUE(ends_with(frames[0].substr(0, bracket), "profiler_stack_test.cc")) << frames[0];
  const int line = std::stoi(frames[0].substr(bracket + 1));
  EXPECT_GT(line, kFirstLine);
  EXPECT_LT(line, kLastLine);
}

TEST(HostStack, IsRecordedInAForkedChild) {
  const Profiler profiler = with_stack();
  profiler.start();
  stack_test_range("parent");
  const pid_t child = fork();
  if (child == 0) {
    within_script(kScript, [] { stack_test_range("child"); });
    const auto frames = stack_of(profiler.stop().report(OPD_TRACE_EVENTS), "child");
    _exit(!frames.empty() && frames.back() == "dir/main.py(3): root" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(stack_of(profiler.stop().report(OPD_TRACE_EVENTS), "parent").empty());
}

}  // namespace
