// Chrome traces, read back with cJSON. Field names are those of torch.profiler's export_chrome_trace.

#include "support/chrome_trace.h"

#include <cjson/cJSON.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <memory>

#include "support/trace_builder.h"
#include "trace/record/recording.h"

namespace opd {
namespace {

struct DeleteJson {
  void operator()(cJSON *json) const { cJSON_Delete(json); }
};
using Json = std::unique_ptr<cJSON, DeleteJson>;

Json parse(const std::string &text) {
  Json json(cJSON_ParseWithOpts(text.c_str(), nullptr, true));
  EXPECT_NE(json, nullptr) << text;
  return json;
}
const cJSON *member(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  EXPECT_NE(item, nullptr) << name;
  return item;
}
double number_at(const cJSON *object, const char *name) { return member(object, name)->valuedouble; }
std::string text_at(const cJSON *object, const char *name) { return member(object, name)->valuestring; }
std::string compact(const cJSON *item) {
  char *printed = cJSON_PrintUnformatted(item);
  std::string out = printed;
  cJSON_free(printed);
  return out;
}
std::vector<const cJSON *> events(const cJSON *trace, const char *phase) {
  std::vector<const cJSON *> out;
  const cJSON *event;
  cJSON_ArrayForEach(event, member(trace, "traceEvents")) if (text_at(event, "ph") == phase) out.push_back(event);
  return out;
}

// Calls at given ticks, each with one float32[2, 3] and one int64[] argument.
TraceParts call_trace(std::initializer_list<std::pair<uint64_t, uint64_t>> spans, ClockCalibration line,
                      uint64_t max_calls = 1 << 20, bool with_runs = false) {
  TraceBuilder trace(max_calls);
  int64_t shape[] = {2, 3};
  DLTensor matrix{nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  DLTensor scalar{nullptr, {kDLCUDA, 1}, 0, {kDLInt, 64, 1}, nullptr, nullptr, 0};
  const View args[] = {opd_dltensor(&matrix), opd_int(5), opd_dltensor(&scalar)};
  uint64_t run = 0;
  for (const auto &[begin, end] : spans) {
    const NameId name = run % 2 ? name_id("quote\"\\ \n \xFF") : name_id("matmul");
    trace.call({begin, end, name, ++run, 7, 2}, args);
  }
  if (with_runs) trace.run(1, 1000, 4000, name_id("matmul")).run(2, 5000, 6000, kNoName);
  TraceParts parts = trace.parts(line);
  parts.processes[0].id = 41;
  parts.processes[0].name = "pro\"gram";
  return parts;
}

TEST(ChromeTrace, WritesCallsInMicrosecondsOfUnixTime) {
  // 3 ticks a nanosecond; tick 3000 is 10^6 ns. The Unix offset puts that at 2024-06-07 20:00:00.
  TraceParts parts = call_trace({{3000, 6000}, {6003, 6003}}, {{3000, 1'000'000}, 1 / 3.0});
  parts.processes[0].unix_offset_ns = 1717790400'000000000 - 1'000'000;
  const auto trace = make_object<Trace>(std::move(parts));
  EXPECT_EQ(trace->num_calls(), 2u);
  const Json json = parse(chrome_trace(*trace));
  // 217 × 7 889 238 s = 1 711 964 646 s is the last multiple of a quarter year before.
  EXPECT_EQ(number_at(json.get(), "baseTimeNanoseconds"), 1711964646e9);
  const auto calls = events(json.get(), "X");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(number_at(calls[0], "ts"), (1717790400 - 1711964646) * 1e6);
  EXPECT_EQ(number_at(calls[0], "dur"), 1.0);  // 3000 ticks = 1000 ns
  EXPECT_EQ(number_at(calls[1], "ts"), (1717790400 - 1711964646) * 1e6 + 1.001);
  EXPECT_EQ(number_at(calls[1], "dur"), 0);
  EXPECT_NE(chrome_trace(*trace).find("\"dur\":1.000,"), std::string::npos) << "exactly three decimals";
}

TEST(ChromeTrace, WritesTheFieldsOfACallThatViewersNeed) {
  const Json json = parse(chrome_trace(*make_object<Trace>(call_trace({{10, 20}, {30, 40}}, {{0, 0}, 1}))));
  const auto calls = events(json.get(), "X");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(text_at(calls[0], "cat"), "cpu_op");
  EXPECT_EQ(text_at(calls[0], "name"), "matmul");
  EXPECT_EQ(number_at(calls[0], "pid"), 41);
  EXPECT_EQ(number_at(calls[0], "tid"), 42);
  const cJSON *args = member(calls[0], "args");
  EXPECT_EQ(compact(member(args, "Input Dims")), "[[2,3],[]]");
  EXPECT_EQ(compact(member(args, "Input type")), "[\"float32\",\"int64\"]");
  EXPECT_EQ(text_at(args, "Device"), "cuda:1");
  EXPECT_EQ(number_at(args, "Instruction"), 7);
  EXPECT_EQ(number_at(args, "Depth"), 2);
  EXPECT_EQ(number_at(args, "Ev Idx"), 0);
  EXPECT_EQ(number_at(args, "External id"), 1);
  EXPECT_EQ(text_at(calls[1], "name"), "quote\"\\ \n \xEF\xBF\xBD");
}

TEST(ChromeTrace, HasASpanForEachRunAndItsFunctionAroundTheCalls) {
  TraceParts parts = call_trace({{2000, 3000}}, {{0, 0}, 1}, 1 << 20, true);
  const Json json = parse(chrome_trace(*make_object<Trace>(std::move(parts))));
  const auto spans = events(json.get(), "X");
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(text_at(spans[0], "name"), "run 0");
  EXPECT_EQ(text_at(spans[1], "name"), "matmul") << "the function that was run";
  EXPECT_EQ(number_at(spans[0], "dur"), 3);
  EXPECT_EQ(number_at(spans[1], "dur"), 3);
  EXPECT_EQ(text_at(spans[2], "name"), "run 1") << "whose function is not known";
  EXPECT_EQ(number_at(spans[3], "ts") - number_at(spans[0], "ts"), 1) << "the call, within the first run";
  EXPECT_EQ(number_at(member(spans[3], "args"), "Run"), 0);
}

TEST(ChromeTrace, HasTracksOfTheirOwnForSpansThatOverlap) {
  TraceBuilder built;
  built.range(1000, 3000, "first").run(1, 2000, 4000, name_id("main")).range(2500, 5000, "last");
  built.range(2600, 2600, "mark", EventKind::kMark);
  const Json json = parse(chrome_trace(*make_object<Trace>(built.parts({{0, 0}, 1}))));
  std::string tracks;
  for (const char *kind : {"X", "i"})
    for (const cJSON *span : events(json.get(), kind))
      tracks += concat(text_at(span, "name"), " ", static_cast<int64_t>(number_at(span, "tid")), " ");
  EXPECT_EQ(tracks, "run 0 10000042 main 10000042 first 42 last 20000042 mark 42 ");
  std::string names;
  for (const cJSON *event : events(json.get(), "M"))
    if (text_at(event, "name") == "thread_name") names += text_at(member(event, "args"), "name") + "; ";
  EXPECT_EQ(names, "thread 42 (main); thread 10000042 (main, overlapping 1); thread 20000042 (main, overlapping 2); ");
}

TEST(ChromeTrace, NamesProcessAndThreadsFirst) {
  const Json json = parse(chrome_trace(*make_object<Trace>(call_trace({{10, 20}}, {{0, 0}, 1}))));
  EXPECT_EQ(text_at(json.get(), "displayTimeUnit"), "ms");
  EXPECT_EQ(number_at(json.get(), "schemaVersion"), 1);
  std::string names;
  for (const cJSON *event : events(json.get(), "M")) names += text_at(event, "name") + " ";
  EXPECT_EQ(names, "process_name process_labels process_sort_index thread_name thread_sort_index ");
  EXPECT_EQ(text_at(member(events(json.get(), "M")[0], "args"), "name"), "pro\"gram");
  EXPECT_EQ(text_at(member(events(json.get(), "M")[3], "args"), "name"), "thread 42 (main)");
  EXPECT_EQ(text_at(cJSON_GetArrayItem(member(json.get(), "traceEvents"), 5), "ph"), "X");
  const cJSON *last = json->child;
  while (last->next) last = last->next;
  EXPECT_STREQ(last->string, "traceName");
}

TEST(ChromeTrace, KeepsNestingWhenTicksAreRounded) {
  // Ticks of 0.4 ns: rounding begin and length apart would let the inner span end 1 ns after the outer one.
  std::vector<std::pair<int64_t, int64_t>> spans;
  TraceParts parts = call_trace({{1, 9}, {4, 9}, {2, 8}}, {{0, 1'000'000'000}, 0.4});
  const Json json = parse(chrome_trace(*make_object<Trace>(std::move(parts))));
  for (const cJSON *event : events(json.get(), "X"))
    spans.emplace_back(std::llround(number_at(event, "ts") * 1000),
                       std::llround((number_at(event, "ts") + number_at(event, "dur")) * 1000));
  ASSERT_EQ(spans.size(), 3u);
  for (const auto &[begin, end] : spans) {
    EXPECT_GE(begin, spans[0].first);
    EXPECT_LE(end, spans[0].second);
  }
}

TEST(ChromeTrace, CountsDroppedCallsAndKeepsMetadata) {
  TraceParts parts = call_trace({{1, 2}, {3, 4}, {5, 6}}, {{0, 0}, 1}, 2);
  parts.metadata = {{"model", "a \"b\""}};
  const auto trace = make_object<Trace>(std::move(parts));
  EXPECT_EQ(trace->num_calls(), 2u);
  EXPECT_EQ(trace->num_dropped(), 1u);
  const Json json = parse(chrome_trace(*trace));
  EXPECT_EQ(number_at(json.get(), "opdyno_dropped_calls"), 1);
  EXPECT_EQ(text_at(json.get(), "model"), "a \"b\"");
}

TEST(ChromeTrace, WritesATraceOfNothing) {
  const Json json = parse(chrome_trace(*make_object<Trace>(TraceParts{})));
  EXPECT_TRUE(events(json.get(), "X").empty());
}

TEST(ChromeTrace, ArrivesInPiecesThatMakeTheWhole) {
  TraceBuilder built;
  DLTensor scalar{nullptr, {kDLCPU, 0}, 0, {kDLInt, 64, 1}, nullptr, nullptr, 0};
  const View args[] = {opd_dltensor(&scalar)};
  for (uint64_t i = 0; i < 5000; ++i) built.call({i, i + 1, name_id("add")}, args);
  const auto trace = make_object<Trace>(built.parts({{0, 0}, 1}));
  struct : ByteSink {
    std::string whole;
    size_t largest = 0, pieces = 0;
    void put(const void *data, size_t size) override {
      whole.append(static_cast<const char *>(data), size);
      largest = std::max(largest, size);
      ++pieces;
    }
  } sink;
  write_chrome_trace(*trace, "", sink);
  EXPECT_EQ(sink.whole, chrome_trace(*trace));
  EXPECT_GT(sink.pieces, 10u);
  EXPECT_LT(sink.largest, 70'000u);
  EXPECT_EQ(events(parse(sink.whole).get(), "X").size(), 5000u);
}

TEST(ChromeTrace, StoresTheIdNameAndClockOfItsProcess) {
  const auto trace = Recording::start({})->stop();
  EXPECT_EQ(trace->parts.processes[0].id, ::getpid());
  EXPECT_FALSE(trace->parts.processes[0].name.empty());
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const auto events_at = trace->parts.processes[0].unix_offset_ns + static_cast<int64_t>(monotonic_ns());
  EXPECT_NEAR(static_cast<double>(events_at), static_cast<double>(now.tv_sec) * 1e9, 10e9);
}

}  // namespace
}  // namespace opd
