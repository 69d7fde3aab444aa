// Traces as profiles of pprof, field by field. Source: profile.proto.
#include <gtest/gtest.h>

#include "support/proto_reader.h"
#include "support/trace_builder.h"
#include "trace_formats/trace_formats.h"

namespace opd {
namespace {

using Lines = std::vector<std::string>;

ProtoMessage pprof_of(const Trace &trace) {
  StringSink sink;
  write_pprof(trace, sink);
  return ProtoMessage(sink.take());
}
std::string joined(const std::vector<uint64_t> &numbers) {
  std::string text;
  for (const uint64_t number : numbers) append(text += text.empty() ? "" : ",", number);
  return text;
}

// Two threads of a process; the ranges of the second one have stacks of a language.
TraceParts recorded_threads() {
  TraceBuilder first(5), second;
  const View none[] = {opd_int(1)};
  first.call({1500, 2500, name_id("add")}, none).call({3000, 3500, name_id("add")}, none);
  first.range(1200, 3600, "").run(1, 1000, 5000, name_id("main"));
  for (uint64_t i = 0; i < 4; ++i) first.call({3700 + i, 3700 + i, name_id("add")}, none);  // room for two of them
  second.range(1000, 1200, "main").range(2000, 2100, "a").range(2200, 2400, "b").range(2500, 2800, "c");
  TraceParts parts = first.parts({{0, 0}, 2}, 42);
  parts.tracks.push_back(second.track(43, ""));
  parts.tracks[1].dropped = 7;
  const auto stack = [](const char *function, const char *file, uint32_t line) {
    const uint64_t frame = pack_frame({name_id(function), name_id(file), line});
    return stack_id({&frame, 1});
  };
  const StackId stacks[] = {0, stack("serve", "a.py", 12), stack("serve", "a.py", 13), stack("serve", "b.py", 0)};
  const_cast<Event *>(parts.tracks[0].ranges[0])->stack = 0;
  for (size_t i = 0; i < 4; ++i) const_cast<Event *>(parts.tracks[1].ranges[i])->stack = stacks[i];
  parts.has_stacks = true;
  TraceProcess &process = parts.processes[0];
  process.id = 77, process.name = "server", process.host = "here", process.unix_offset_ns = 1'000'000;
  process.recording = 1;
  return parts;
}

TEST(Pprof, HasASampleForEachStack) {
  const ProtoMessage profile = pprof_of(*trace_of(recorded_threads()));
  const Lines texts = profile.texts(6);
  EXPECT_EQ(texts.at(0), "");
  Lines types, samples;
  for (const ProtoMessage &type : profile.messages(1))
    types.push_back(texts.at(type.number(1)) + " " + texts.at(type.number(2)));
  EXPECT_EQ(types, (Lines{"calls count", "time nanoseconds"}));
  const auto by_id = [](const std::vector<ProtoMessage> &all, uint64_t id) {
    for (const ProtoMessage &one : all)
      if (one.number(1) == id) return one;
    throw std::runtime_error("no such number");
  };
  for (const ProtoMessage &sample : profile.messages(2)) {
    std::string text;
    for (const uint64_t id : sample.varints(1)) {
      const ProtoMessage line = by_id(profile.messages(4), id).message(4);
      const ProtoMessage function = by_id(profile.messages(5), line.number(1));
      EXPECT_EQ(function.number(2), function.number(3)) << "the name, and the system's";
      text += texts.at(function.number(2));
      if (function.has(4)) text += " in " + texts.at(function.number(4));
      if (line.has(2)) append(text += ":", line.number(2));
      text += " < ";
    }
    samples.push_back(text + joined(sample.varints(2)));
  }
  EXPECT_EQ(samples,
            (Lines{"main < 2,3600", " < main < 1,1800", "add <  < main < 2,3000", "add < main < 2,0",
                   "a < serve in a.py:12 < 1,200", "b < serve in a.py:13 < 1,400", "c < serve in b.py < 1,600"}));
  EXPECT_EQ(profile.messages(5).size(), 8u) << "functions";
  EXPECT_EQ(profile.messages(4).size(), 9u) << "locations: serve has two lines in one file";
  EXPECT_EQ(texts.at(profile.number(13)), "dropped events: 9");
  EXPECT_EQ(profile.number(9), 1'002'000u);
  EXPECT_EQ(profile.number(10), 8'000u);
}

TEST(Pprof, HasOnlyItsTypesForAnEmptyTrace) {
  const ProtoMessage profile = pprof_of(*trace_of({}));
  EXPECT_EQ(profile.messages(1).size(), 2u);
  for (const uint32_t field : {2u, 4u, 5u, 9u, 10u, 13u}) EXPECT_FALSE(profile.has(field)) << field;
}

}  // namespace
}  // namespace opd
