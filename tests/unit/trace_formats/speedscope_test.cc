// speedscope's evented profiles: what opens last closes first, at times that never fall.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "support/trace_builder.h"
#include "trace/model/names.h"
#include "trace_formats/trace_formats.h"

namespace opd {
namespace {

std::string speedscope(TraceParts parts) {
  StringSink sink;
  write_speedscope(*make_object<Trace>(std::move(parts)), sink);
  return sink.take();
}

// The events as "O3@1000 C3@2000 …", of all profiles; checks that they nest.
std::string nested_events(const std::string &json) {
  std::string all;
  std::vector<long> open;
  long last = 0;
  const std::string_view begin = "{\"type\":\"", frame = "\",\"frame\":", at = ",\"at\":";
  for (size_t place = 0; (place = json.find(frame, place)) != std::string::npos; ++place) {
    const char kind = json[place - 1];
    EXPECT_EQ(std::string_view(json).substr(place - 1 - begin.size(), begin.size()), begin);
    const long number = std::atol(&json[place + frame.size()]);
    const long ns = std::atol(&json[json.find(at, place) + at.size()]);
    EXPECT_GE(ns, last);
    last = ns;
    if (kind == 'O') {
      open.push_back(number);
    } else if (open.empty()) {
      ADD_FAILURE() << "nothing is open";
    } else {
      EXPECT_EQ(open.back(), number) << "what opens last closes first, at " << ns;
      open.pop_back();
    }
    append(all, concat(all.empty() ? "" : " ", std::string(1, kind), number, "@", ns));
  }
  EXPECT_TRUE(open.empty()) << "all is closed";
  return all;
}

// A run from 1000 to 9000 that "outer" called, which "main" called; within it from 2000 to 4000 a call without
// functions of the host, and from 5000 to 6000 one that two more functions called.
TEST(Speedscope, OpensAndClosesFunctionsOfTheHostAroundTheirSpans) {
  const uint64_t outer[] = {0x1022, 0x1011}, inner[] = {0x1044, 0x1033, 0x1022, 0x1011};  // from the innermost on
  Event run{}, plain{}, deep{};
  run.begin = 1000, run.end = 9000, run.kind = EventKind::kRun, run.recordings = 1, run.run = 1;
  run.name = name_id("run"), run.stack = stack_id(outer);
  plain.begin = 2000, plain.end = 4000, plain.kind = EventKind::kRange, plain.recordings = 1;
  plain.name = name_id("plain"), plain.stack = run.stack;
  deep.begin = 5000, deep.end = 6000, deep.kind = EventKind::kRange, deep.recordings = 1;
  deep.name = name_id("deep"), deep.stack = stack_id(inner);
  TraceParts parts;
  parts.has_stacks = true;
  parts.processes[0].line = {{0, 0}, 1};
  parts.processes[0].recordings = 1;
  parts.processes[0].objects = {{0x1000, 0x2000, 0x1000, "/program", ""}};
  parts.tracks.emplace_back().thread_id = 7;
  parts.tracks[0].add_open(std::array{run, plain, deep});
  const std::string json = speedscope(std::move(parts));
  // Frames are numbered as they first appear: the two functions, the run, the first range, two functions, the second.
  EXPECT_EQ(nested_events(json),
            "O0@0 O1@0 O2@0 O3@1000 C3@3000 O4@4000 O5@4000 O6@4000 C6@5000 C5@5000 C4@5000 C2@8000 C1@8000 C0@8000");
  const size_t frames = json.find("\"frames\":");
  ASSERT_NE(frames, std::string::npos);
  size_t last = frames;
  for (const char *name : {"/program(+0x11)", "/program(+0x22)", "\"run\"", "\"plain\"", "/program(+0x33)",
                           "/program(+0x44)", "\"deep\""}) {
    const size_t place = json.find(name, last);
    EXPECT_NE(place, std::string::npos) << name;
    last = place;
  }
  EXPECT_NE(json.find("\"startValue\":0,\"endValue\":8000"), std::string::npos);
}

TEST(Speedscope, HasAProfileForEachLaneOfATrack) {
  TraceBuilder built;
  built.range(0, 100, "a").range(10, 20, "b").range(50, 150, "c").range(120, 130, "d");
  const std::string json = speedscope(built.parts({{0, 0}, 2}, 9, "worker"));
  EXPECT_NE(json.find(R"x("name":"thread 9 (worker)","startValue":0,"endValue":260)x"), std::string::npos) << json;
  EXPECT_NE(json.find(R"x("name":"thread 9 (worker, overlapping 1)","startValue":0,"endValue":300)x"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"O\",\"frame\":0,\"at\":0}"), std::string::npos);
  EXPECT_NE(json.find("\"C\",\"frame\":0,\"at\":200}"), std::string::npos) << "a tick is two nanoseconds";
}

}  // namespace
}  // namespace opd
