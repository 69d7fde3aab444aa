// The trace in the page, read by its description in html_view.cc with code of its own. What the page makes of it is
// tested in a browser: tests/bindings/python/test_trace_page.py.
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstring>

#include "support/full_trace.h"
#include "support/trace_builder.h"
#include "trace/model/names.h"
#include "trace_formats/trace_file.h"
#include "trace_formats/trace_formats.h"

namespace opd {
namespace {

std::string html(TraceParts parts) {
  StringSink sink;
  write_html(*make_object<Trace>(std::move(parts)), sink);
  return sink.take();
}

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0, held = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    held += 6;
    if (held >= 8) bytes += static_cast<char>(bits >> (held -= 8));
  }
  return bytes;
}

std::string unpacked(std::string packed) {
  std::string bytes(1 << 20, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef *>(packed.data()), stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef *>(bytes.data()), stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  inflateEnd(&stream);
  return bytes;
}

struct Content {
  std::string head;
  std::vector<int64_t> numbers;  // of all columns; those of the second one have a sign
};
Content content(const std::string &page, size_t spans) {
  const std::string_view begin = "id=\"data\">";
  const size_t from = page.find(begin) + begin.size();
  const std::string bytes = unpacked(from_base64(std::string_view(page).substr(from, page.find('<', from) - from)));
  Content found;
  size_t at = bytes.find('\n');
  found.head = bytes.substr(0, at++);
  while (at < bytes.size()) {
    uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes[at++]);
      number |= uint64_t{byte & 127u} << shift;
      if (byte < 128) break;
    }
    const bool has_sign = found.numbers.size() / spans == 1;
    found.numbers.push_back(has_sign ? static_cast<int64_t>(number >> 1) ^ -static_cast<int64_t>(number & 1)
                                     : static_cast<int64_t>(number));
  }
  return found;
}

TEST(HtmlView, HasTheColumnsOfAllSpans) {
  TraceBuilder built;
  built.range(1'000, 1'300, "inner").range(500, 2'500, "outer").range(2'000, 2'700, "crossing");
  built.range(3'000, 3'000, "mark", EventKind::kMark).range(4'000, 4'200, nullptr, EventKind::kStep, 7);
  const Content found = content(html(built.parts(kNanoseconds, 42, "a \"thread\"")), 5);
  EXPECT_EQ(
      found.head,
      "{\"process\":\"\",\"begin_us\":0,\"sample_interval\":1,\"threads\":[{\"id\":42,\"name\":\"a \\\"thread\\\"\","
      "\"dropped\":0,\"spans\":5}],\"labels\":[[\"outer\",2],[\"inner\",2],[\"crossing\",2],[\"mark\",4],"
      "[\"ProfilerStep#7\",3,\"ProfilerStep*\"]],\"shapes\":[],\"stacks\":[],\"errors\":[]}");
  EXPECT_EQ(found.numbers, (std::vector<int64_t>{0,    1,   2,    3,    4,     // labels
                                                 0,    500, 1000, 1000, 1000,  // begins, from the one before
                                                 2000, 300, 700,  0,    200,   // durations
                                                 300,  0,   0,    0,    0,     // covered by spans within
                                                 0,    1,   0,    0,    0,     // depths
                                                 0,    0,   2,    0,    0,     // lanes, twice: nothing is open
                                                 0,    0,   0,    0,    0,     // no shapes
                                                 0,    0,   0,    0,    0}));  // no stacks
}

TEST(HtmlView, HasTasksOnTheTracksOfTheirThreadsAndStacks) {
  const uint64_t frames[] = {0x1011, 0x1022};  // from the innermost on
  Event run{}, tasks[2]{};
  run.begin = 0, run.end = 900, run.kind = EventKind::kRun, run.run = 1, run.recordings = 1;
  run.name = name_id("launches"), run.stack = stack_id(frames);
  for (uint32_t i = 0; i < 2; ++i) {
    tasks[i].begin = 100 + 100 * i, tasks[i].end = 500 + 100 * i, tasks[i].kind = EventKind::kTask;
    tasks[i].run = 1, tasks[i].recordings = 1;
    set_loop_task(tasks[i], {.loop = 1, .task = i, .num_tasks = 2, .thread = 7});
  }
  TraceParts parts;
  parts.has_stacks = true;
  parts.processes[0].line = kNanoseconds;
  parts.processes[0].recordings = 1;
  parts.processes[0].objects = {{0x1000, 0x2000, 0x1000, "/program", ""}};
  parts.tracks.resize(2);
  parts.tracks[0].thread_id = 7, parts.tracks[1].thread_id = 8;
  parts.tracks[0].add_open(std::array{run, tasks[0]});
  parts.tracks[1].add_open(std::array{tasks[1]});
  const Content found = content(html(std::move(parts)), 3);
  EXPECT_NE(found.head.find("\"labels\":[[\"launches\",1],[\"launches\",7,\"launches\",\"0 of 2\"],"
                            "[\"launches\",7,\"launches\",\"1 of 2\"]]"),
            std::string::npos)
      << found.head;
  EXPECT_NE(found.head.find("\"stacks\":[\"/program(+0x11);/program(+0x22);\"]"), std::string::npos) << found.head;
  ASSERT_EQ(found.numbers.size(), 8u * 3);
  const auto column = [&](size_t number) {
    return std::vector<int64_t>(&found.numbers[3 * number], &found.numbers[3 * number] + 3);
  };
  EXPECT_EQ(column(0), (std::vector<int64_t>{0, 1, 2}));  // labels
  EXPECT_EQ(column(3), (std::vector<int64_t>{400, 0, 0})) << "the page gives the time of a task back";
  EXPECT_EQ(column(4), (std::vector<int64_t>{0, 1, 0}));  // depths
  EXPECT_EQ(column(7), (std::vector<int64_t>{1, 1, 0})) << "a span without a stack has that of the one around it";
}

// In the order of threads, then streams. Times are those of full_trace(), less that of the first event.
TEST(HtmlView, HasEventsOfAllKinds) {
  const Content found = content(html(full_trace()), 14);
  EXPECT_EQ(
      found.head,
      R"({"process":"server","begin_us":1,"sample_interval":1,"threads":[)"
      R"({"id":7,"name":"main","dropped":0,"spans":7},{"id":8,"name":"worker","dropped":2,"spans":2},)"
      R"({"id":8388608,"name":"opencl:0, default stream","device":true,"dropped":0,"spans":3},)"
      R"({"id":8388609,"name":"opencl:0, stream 2","device":true,"dropped":0,"spans":1},)"
      R"({"id":8388610,"name":"opencl:0, overhead","device":true,"dropped":0,"spans":1}],)"
      R"("labels":[["ProfilerStep#3",3,"ProfilerStep*"],["outer",2],["main",1],["conv",0],["conv",7,"conv","0 of 2"],)"
      R"(["moment",4],["add",0],["conv",7,"conv","1 of 2"],["open",2],["conv_kernel",9],["fill",9],["late",9],)"
      R"(["copy",9],["flush",9]],"shapes":["float32[2, 3], int64[]"],)"
      R"x("stacks":["a.py(12): serve;","a.py(13): serve;"],"errors":[[3,"no \"luck\""]]})x");
  EXPECT_EQ(found.numbers,
            (std::vector<int64_t>{
                0,      1,    2,    3,    4,   5,   6,    7,    8,    9,    10,   11,   12,   13,    // labels
                0,      500,  500,  1000, 300, 200, 3500, 2300, 5700, 3500, 3800, 3200, 7000, 7400,  // begins
                10'000, 9000, 8000, 2000, 600, 0,   500,  500,  3000, 1000, 10,   100,  250,  100,   // durations
                9000,   8000, 2500, 600,  0,   0,   0,    0,    0,    0,    0,    0,    0,    0,     // covered
                0,      1,    2,    3,    4,   5,   3,    0,    0,    0,    0,    0,    0,    0,     // depths
                0,      0,    0,    0,    0,   0,   0,    0,    1,    0,    0,    0,    0,    0,     // one is open
                0,      0,    0,    1,    0,   0,   0,    0,    0,    0,    0,    0,    0,    0,     // shapes
                0,      1,    1,    1,    1,   2,   1,    0,    0,    0,    0,    0,    0,    0}));  // stacks
}

TEST(HtmlView, CountsFromTheFirstBeginOfAllThreads) {
  TraceBuilder late, early;
  late.range(5'000, 5'100, "late");
  early.range(3'000, 3'010, "early").range(2'000, 4'000, "around");
  TraceParts parts = late.parts(kNanoseconds, 1);
  parts.tracks.push_back(early.track(2));
  parts.tracks[1].dropped = 9;
  parts.processes[0].unix_offset_ns = 1'700'000'000'000'000'000;
  const Content found = content(html(std::move(parts)), 3);
  EXPECT_NE(found.head.find("\"begin_us\":1700000000000002,"), std::string::npos);
  EXPECT_NE(found.head.find("\"dropped\":9,\"spans\":2}"), std::string::npos);
  EXPECT_EQ(std::vector<int64_t>(found.numbers.begin() + 3, found.numbers.begin() + 9),
            (std::vector<int64_t>{3000, 0, 1000, 100, 2000, 10}));
}

TEST(HtmlView, HasTheProcessesOfAMergedTrace) {
  TraceBuilder a, b;
  a.range(1'000, 1'300, "work"), b.range(100, 200, "work");
  TraceParts near = a.parts(kNanoseconds, 7), far = b.parts({{0, 0}, 2}, 8, "worker");
  near.processes[0].id = 41, near.processes[0].name = "python", near.processes[0].unix_offset_ns = 5'000'000;
  far.processes[0].id = 42, far.processes[0].name = "java", far.processes[0].unix_offset_ns = 5'002'000;
  far.processes[0].host = "else\"where", far.processes[0].clock_name = "tsc", far.processes[0].clock_error_ns = 1500;
  far.processes[0].sample_interval = 10;
  const Ref<Trace> one = make_object<Trace>(near), other = make_object<Trace>(far);
  const Trace *traces[] = {one.get(), other.get()};
  TraceMergeOptions options;
  options.labels = {"near", "far"};
  options.shifts_ns = {0, -300};
  StringSink sink;
  write_html(*merge_traces(traces, options), sink);
  const Content found = content(sink.take(), 2);
  EXPECT_EQ(
      found.head,
      "{\"process\":\"near, far\",\"begin_us\":5001,\"sample_interval\":10,\"processes\":["
      "{\"label\":\"near\",\"name\":\"python\",\"id\":41,\"host\":\"\",\"clock\":\"\",\"clock_error_ns\":-1,"
      "\"offset_ns\":0},{\"label\":\"far\",\"name\":\"java\",\"id\":42,\"host\":\"else\\\"where\",\"clock\":\"tsc\","
      "\"clock_error_ns\":1500,\"offset_ns\":-300}],\"threads\":["
      "{\"id\":7,\"name\":\"main\",\"process\":0,\"dropped\":0,\"spans\":1},"
      "{\"id\":8,\"name\":\"worker\",\"process\":1,\"dropped\":0,\"spans\":1}],"
      "\"labels\":[[\"work\",2]],\"shapes\":[],\"stacks\":[],\"errors\":[]}");
  // far's span: 100 ticks of 2 ns, from 5'002'000 + 200 - 300 on; near's begins at 5'001'000.
  EXPECT_EQ(std::vector<int64_t>(found.numbers.begin() + 2, found.numbers.begin() + 6),
            (std::vector<int64_t>{0, 900, 300, 200}));
}

TEST(HtmlView, HasNoTextOfTheTraceOutsideOfItsData) {
  TraceBuilder built;
  built.range(0, 10, "</script><b>TRACE_DATA").range(20, 30, "\xFF\x01\n");
  TraceParts parts = built.parts(kNanoseconds);
  parts.processes[0].name = "</title>";
  const std::string page = html(std::move(parts)), empty = html(TraceBuilder().parts(kNanoseconds));
  const auto frame = [](const std::string &text) {  // of the page around its data
    const size_t from = text.find("id=\"data\">");
    return text.substr(0, from) + text.substr(text.find('<', from));
  };
  EXPECT_EQ(frame(page), frame(empty));
  EXPECT_EQ(content(empty, 1).numbers.size(), 0u);
  const std::string head = content(page, 2).head;
  EXPECT_NE(head.find("</script><b>TRACE_DATA"), std::string::npos) << "in the data, where it is no markup";
  EXPECT_NE(head.find("\xEF\xBF\xBD\\u0001\\n"), std::string::npos) << "UTF-8 for certain";
}

TEST(HtmlView, TakesAFewBytesASpan) {
  TraceBuilder built;
  for (uint64_t i = 0; i < 20'000; ++i)
    built.range(i * 1000 + i * i % 97, i * 1000 + 700 + i * i % 89, i % 2 ? "a" : "b");
  const size_t bytes = html(built.parts(kNanoseconds)).size() - html(TraceBuilder().parts(kNanoseconds)).size();
  EXPECT_LT(bytes, 20'000u * 8);
}

TEST(Base64, GroupsBytesHoweverTheyCome) {
  const std::pair<const char *, const char *> known[] = {// RFC 4648, section 10
                                                         {"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto &[bytes, text] : known)
    for (size_t piece = 1; piece <= 7; ++piece) {
      StringSink made;
      Base64Sink sink(made);
      for (size_t at = 0; at < std::strlen(bytes); at += piece)
        sink.write(bytes + at, std::min(piece, std::strlen(bytes) - at));
      sink.finish();
      EXPECT_EQ(made.take(), text) << "in pieces of " << piece;
    }
}

}  // namespace
}  // namespace opd
