// Traces as profiles of pprof and of OpenTelemetry, field by field. Sources: profile.proto, and profiles.proto with
// what that includes.
#include <gtest/gtest.h>

#include "support/proto_reader.h"
#include "support/trace_builder.h"
#include "trace/model/merge.h"
#include "trace_formats/trace_formats.h"

namespace opd {
namespace {

using Lines = std::vector<std::string>;

template <class Write>
ProtoMessage proto_of(const Trace &trace, const Write &write) {
  StringSink sink;
  write(trace, sink);
  return ProtoMessage(sink.take());
}
std::string joined(const std::vector<uint64_t> &numbers) {
  std::string text;
  for (const uint64_t number : numbers) append(text += text.empty() ? "" : ",", number);
  return text;
}

// Two threads of a process; the ranges of the second one have stacks of a language.
TraceParts recorded_threads(int64_t recording = 1) {
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
  process.recording = static_cast<uint64_t>(recording);
  return parts;
}
Ref<Trace> merged_threads() {
  TraceParts other = recorded_threads(2);
  other.processes[0].host = "", other.tracks.pop_back();
  const Ref<Trace> one = trace_of(recorded_threads()), two = trace_of(other);
  const Trace *traces[] = {one.get(), two.get()};
  return merge_traces(traces, {.labels = {"left", "right"}});
}

// ---- OpenTelemetry

class Profiles {
 public:
  explicit Profiles(const Trace &trace)
      : data_(proto_of(trace, &write_otlp)), dictionary_(data_.message(2)), texts_(dictionary_.texts(5)) {}

  std::vector<ProtoMessage> resources() const { return data_.messages(1); }
  static ProtoMessage profile(const ProtoMessage &resource) { return resource.message(2).message(2); }
  static std::string resource_text(const ProtoMessage &resource) {
    std::string text;
    for (const ProtoMessage &pair : resource.message(1).messages(1))
      text += concat(pair.text(1), "=", value_text(pair.message(2)), " ");
    return text;
  }
  std::string attributes(const std::vector<uint64_t> &places) const {
    std::string text;
    for (const uint64_t place : places) {
      const ProtoMessage pair = dictionary_.messages(6).at(place);
      text += concat(texts_.at(pair.number(1)), "=", value_text(pair.message(2)), " ");
    }
    return text;
  }
  Lines samples(const ProtoMessage &profile) const {
    Lines lines;
    for (const ProtoMessage &sample : profile.messages(2)) {
      std::string line = attributes(sample.varints(2));
      for (const uint64_t place : dictionary_.messages(7).at(sample.number(1)).varints(1))
        line += location(dictionary_.messages(2).at(place)) + " < ";
      lines.push_back(line + joined(sample.varints(4)) + " at " + joined(sample.fixed(5)));
    }
    return lines;
  }
  const ProtoMessage &dictionary() const { return dictionary_; }
  const Lines &texts() const { return texts_; }

 private:
  static std::string value_text(const ProtoMessage &value) {
    return value.has(1) ? value.text(1) : concat(static_cast<int64_t>(value.number(3)));
  }
  std::string location(const ProtoMessage &place) const {
    const ProtoMessage line = place.message(3), function = dictionary_.messages(3).at(line.number(1));
    std::string text = texts_.at(function.number(1));
    if (function.has(3)) text += " in " + texts_.at(function.number(3));
    return line.has(2) ? concat(text, ":", line.number(2)) : text;
  }
  ProtoMessage data_, dictionary_;
  Lines texts_;
};

const Lines kFirstThread{"thread.id=42 thread.name=main main < 3200 at 1002000",
                         "thread.id=42 thread.name=main (no name) < main < 1800 at 1002400",
                         "thread.id=42 thread.name=main add < (no name) < main < 2000,1000 at 1003000,1006000",
                         "thread.id=42 thread.name=main add < main < 0,0 at 1007400,1007402"};
const Lines kSecondThread{"thread.id=43 main < 400 at 1002000", "thread.id=43 a < serve in a.py:12 < 200 at 1004000",
                          "thread.id=43 b < serve in a.py:13 < 400 at 1004400",
                          "thread.id=43 c < serve in b.py < 600 at 1005000"};

TEST(OpenTelemetry, HasASampleForEachStackOfAThread) {
  const Profiles profiles(*trace_of(recorded_threads()));
  ASSERT_EQ(profiles.resources().size(), 1u);
  const ProtoMessage resource = profiles.resources()[0], profile = Profiles::profile(resource);
  EXPECT_EQ(Profiles::resource_text(resource),
            "service.name=unknown_service:server process.pid=77 process.executable.name=server ");
  EXPECT_EQ(resource.message(2).message(1).text(1), "opdyno");
  const ProtoMessage type = profile.message(1);
  EXPECT_EQ(profiles.texts()[type.number(1)], "time");
  EXPECT_EQ(profiles.texts()[type.number(2)], "nanoseconds");
  EXPECT_EQ(profile.number(3), 1'002'000u) << "the first begin";
  EXPECT_EQ(profile.number(4), 8'000u) << "until the last end";
  EXPECT_EQ(profiles.attributes(profile.varints(11)), "opdyno.dropped_events=9 ");
  Lines expected = kFirstThread;
  expected.insert(expected.end(), kSecondThread.begin(), kSecondThread.end());
  EXPECT_EQ(profiles.samples(profile), expected);
}

TEST(OpenTelemetry, HasTablesWhoseFirstItemsAreNone) {
  const Profiles profiles(*trace_of(recorded_threads()));
  for (const uint32_t table : {1u, 2u, 3u, 4u, 5u, 6u, 7u})
    EXPECT_EQ(profiles.dictionary().texts(table).at(0), "") << "table " << table;
  EXPECT_EQ(profiles.dictionary().texts(1).size(), 1u) << "mappings";
  EXPECT_EQ(profiles.dictionary().texts(4).size(), 1u) << "links";
  EXPECT_EQ(profiles.dictionary().texts(3).size(), 1u + 8) << "main, no name, add, a, b, c, and serve of two files";
  EXPECT_EQ(profiles.dictionary().texts(2).size(), 1u + 9) << "serve has two lines in one of them";
}

TEST(OpenTelemetry, HasAResourceForEachProcess) {
  const Profiles profiles(*merged_threads());
  ASSERT_EQ(profiles.resources().size(), 2u);
  const ProtoMessage left = profiles.resources()[0], right = profiles.resources()[1];
  EXPECT_EQ(Profiles::resource_text(left),
            "service.name=unknown_service:server process.pid=77 process.executable.name=server "
            "service.instance.id=left host.name=here ");
  EXPECT_EQ(Profiles::resource_text(right),
            "service.name=unknown_service:server process.pid=77 process.executable.name=server "
            "service.instance.id=right ");
  EXPECT_EQ(profiles.attributes(Profiles::profile(left).varints(11)), "opdyno.dropped_events=9 ");
  EXPECT_EQ(profiles.attributes(Profiles::profile(right).varints(11)), "opdyno.dropped_events=2 ");
  EXPECT_EQ(profiles.samples(Profiles::profile(left)).size(), 8u);
  Lines expected = kFirstThread;  // within the name of the process
  for (std::string &line : expected) line.insert(line.rfind("< ") + 2, "right < ");
  EXPECT_EQ(profiles.samples(Profiles::profile(right)), expected);
}

TEST(OpenTelemetry, HasNoTimeForAnEmptyTrace) {
  const Profiles profiles(*trace_of({}));
  const ProtoMessage profile = Profiles::profile(profiles.resources().at(0));
  EXPECT_FALSE(profile.has(3));
  EXPECT_FALSE(profile.has(4));
  EXPECT_EQ(profiles.attributes(profile.varints(11)), "opdyno.dropped_events=0 ");
}

// ---- pprof

TEST(Pprof, HasASampleForEachStack) {
  const ProtoMessage profile = proto_of(*trace_of(recorded_threads()), &write_pprof);
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
  const ProtoMessage profile = proto_of(*trace_of({}), &write_pprof);
  EXPECT_EQ(profile.messages(1).size(), 2u);
  for (const uint32_t field : {2u, 4u, 5u, 9u, 10u, 13u}) EXPECT_FALSE(profile.has(field)) << field;
}

}  // namespace
}  // namespace opd
