// Traces in Perfetto's form, packet by packet. Sources: trace_packet.proto, track_event.proto and what these include.
#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "support/full_trace.h"
#include "support/proto_reader.h"
#include "support/trace_builder.h"
#include "trace_formats/trace_formats.h"

namespace opd {
namespace {

using Lines = std::vector<std::string>;

// A line for each packet: its sequence, its timestamp, and what is in it. Numbers of texts are those of the sequence.
class Dump {
 public:
  explicit Dump(const Trace &trace) {
    StringSink sink;
    write_perfetto(trace, sink);
    for (const ProtoMessage &packet : ProtoMessage(sink.take()).messages(1)) add(packet);
  }
  Lines lines;

 private:
  enum Table : uint32_t { kCategories = 1, kNames, kAnnotations, kSources, kStrings = 29 };

  void add(const ProtoMessage &packet) {
    sequence_ = packet.number(10);
    std::string line = concat(sequence_, ":");
    if (packet.number(13) == 1) texts_.clear(), line += " cleared";
    if (packet.has(8)) append(line += " at ", packet.number(8));
    if (packet.has(42)) line += " dropped";
    for (const ProtoMessage &clock : packet.message(6).messages(1))
      line += concat(" clock ", clock.number(1), "=", clock.number(2), clock.has(3) ? " incremental" : "");
    if (const ProtoMessage defaults = packet.message(59); packet.has(59))
      line += concat(" defaults track ", defaults.message(11).number(11), " clock ", defaults.number(58));
    intern(packet.message(12));
    if (packet.has(60)) line += descriptor(packet.message(60));
    if (packet.has(11)) line += event(packet.message(11));
    if (packet.has(11)) { EXPECT_EQ(packet.number(13), 2u) << "needs the state of its sequence"; }
    lines.push_back(line);
  }
  void intern(const ProtoMessage &data) {
    for (const uint32_t table : {kCategories, kNames, kAnnotations, kSources, kStrings})
      for (const ProtoMessage &item : data.messages(table)) {
        const std::string text =
            table == kSources ? concat(item.text(2), ":", item.text(3), ":", item.number(4)) : item.text(2);
        EXPECT_TRUE(texts_.try_emplace({table, item.number(1)}, text).second) << text;
      }
  }
  std::string text_of(Table table, uint64_t number) const {
    const auto found = texts_.find({table, number});
    return found == texts_.end() ? "nothing" : found->second;
  }
  static std::string descriptor(const ProtoMessage &track) {
    std::string text = concat(" track ", track.number(1));
    if (track.has(5)) append(text += " in ", track.number(5));
    if (track.has(2)) text += " '" + track.text(2) + "'";
    if (const ProtoMessage process = track.message(3); track.has(3))
      text +=
          concat(" process ", process.number(1), " ", process.text(6), process.has(8) ? " of " : "", process.text(8));
    if (const ProtoMessage thread = track.message(4); track.has(4))
      text += concat(" thread ", thread.number(1), " ", thread.number(2), " ", thread.text(5));
    if (track.has(8)) append(text += " counter of unit ", track.message(8).number(3));
    if (track.has(14)) text += " is " + track.text(14);
    return text;
  }
  std::string event(const ProtoMessage &event) const {
    const uint64_t type = event.number(9);
    if (type == 2) return " end";
    if (type == 4 && event.has(44))
      return concat(" value ", std::bit_cast<double>(event.number(44)), " of ", event.number(11));
    if (type == 4) return concat(" count ", event.number(30), " of ", event.number(11));
    std::string text = concat(type == 3 ? " instant " : " begin ", text_of(kNames, event.number(10)), " (",
                              text_of(kCategories, event.number(3)), ")");
    for (const ProtoMessage &note : event.messages(4))
      text += concat(" ", text_of(kAnnotations, note.number(1)), "=",
                     note.has(17) ? text_of(kStrings, note.number(17)) : concat(note.number(4)));
    if (event.has(47)) append(text += " flow ", event.number(47));
    if (event.has(48)) append(text += " ends flow ", event.number(48));
    if (event.has(34)) text += " from " + text_of(kSources, event.number(34));
    return text;
  }

  uint64_t sequence_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, std::string> texts_;
};

// The tick 1000 is 500 ns after the start of the system, and 1'000'500 ns of Unix time.
TraceParts recorded(uint64_t recording = 1) {
  TraceBuilder built;
  int64_t size = 4;
  DLTensor vector{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &size, nullptr, 0};
  const View args[] = {opd_dltensor(&vector)};
  built.call({3000, 3500, name_id("add")}, args).call({3600, 3700, name_id("add")}, args);
  built.range(4000, 4000, "moment", EventKind::kMark).range(2000, 5000, "outer").range(4500, 6000, "late");
  built.range(5500, 7000, "open");
  built.memory(EventKind::kAlloc, 2500, {kDLCPU, 0}, {1, 64, 64, 128});
  built.memory(EventKind::kAlloc, 2600, {kDLCUDA, 1}, {2, 8, 8, 16});
  built.memory(EventKind::kFree, 2700, {kDLCPU, 0}, {1, 64, 0, 128});
  TraceParts parts = built.parts({{1000, 500}, 1}, 42);
  for (const Event *range : parts.tracks[0].ranges) const_cast<Event *>(range)->stack = 0;
  const_cast<Event *>(parts.tracks[0].ranges.back())->is_open = true;
  parts.tracks[0].dropped = 1;
  TraceProcess &process = parts.processes[0];
  process.id = 77, process.name = "server", process.host = "here", process.unix_offset_ns = 1'000'000;
  process.recording = recording;
  return parts;
}

TEST(Perfetto, HasAPacketForEachBeginAndEnd) {
  const Lines expected{"1: at 500 clock 6=500 clock 1=1000500",
                       "1: track 1 process 77 server",
                       "2: track 2 in 1 thread 77 42 main",
                       "2: cleared dropped clock 6=1500 clock 64=1500 incremental defaults track 2 clock 64",
                       "2: at 0 begin outer (user_annotation)",
                       "2: at 1000 begin add (cpu_op) Input Dims=float32[4]",
                       "2: at 500 end",
                       "2: at 100 begin add (cpu_op) Input Dims=float32[4]",
                       "2: at 100 end",
                       "2: at 300 instant moment (user_annotation)",
                       "2: at 1000 end",
                       "2: at 500 begin open (user_annotation) Open=1",
                       "3: track 3 in 1 'main 42, overlapping 1'",
                       "3: cleared dropped clock 6=4000 clock 64=4000 incremental defaults track 3 clock 64",
                       "3: at 0 begin late (user_annotation)",
                       "3: at 1500 end",
                       "4: cleared clock 6=2000 clock 64=2000 incremental defaults track 4 clock 64",
                       "4: track 5 in 1 'Memory of cpu:0: allocated' counter of unit 3",
                       "4: track 6 in 1 'Memory of cpu:0: reserved' counter of unit 3",
                       "4: at 0 count 64 of 5",
                       "4: at 0 count 128 of 6",
                       "4: track 7 in 1 'Memory of cuda:1: allocated' counter of unit 3",
                       "4: track 8 in 1 'Memory of cuda:1: reserved' counter of unit 3",
                       "4: at 100 count 8 of 7",
                       "4: at 0 count 16 of 8",
                       "4: at 100 count 0 of 5",
                       "4: at 0 count 128 of 6"};
  EXPECT_EQ(Dump(*trace_of(recorded())).lines, expected);
}

// Both tracks have the same texts: each sequence has numbers of its own.
TEST(Perfetto, HasTextsOfEachSequence) {
  TraceBuilder first, second;
  const auto fill = [](TraceBuilder &built) {
    int64_t size = 4;
    DLTensor vector{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &size, nullptr, 0};
    const View args[] = {opd_dltensor(&vector)};
    built.call({1500, 1600, name_id("add")}, args).range(1000, 2000, "served");
    built.range(3000, 4000, nullptr, EventKind::kStep, 5);
  };
  fill(first), fill(second);
  const uint64_t frame = pack_frame({name_id("serve"), name_id("a.py"), 12});
  TraceParts parts = first.parts({{0, 0}, 1}, 1, "one");
  parts.tracks.push_back(second.track(2, "two"));
  for (const TraceTrack &track : parts.tracks) {
    const_cast<Event *>(track.ranges[0])->stack = stack_id({&frame, 1});
    const_cast<Event *>(track.ranges[1])->stack = 0;
  }
  parts.has_stacks = true;
  const Lines all = Dump(*trace_of(parts)).lines;
  for (const char *sequence : {"2", "3"}) {
    Lines own;
    for (const std::string &line : all)
      if (line.starts_with(sequence) && line.find(" at ") != std::string::npos) own.push_back(line.substr(3));
    EXPECT_EQ(own, (Lines{"at 0 begin served (user_annotation) Call stack=a.py(12): serve; from a.py:serve:12",
                          "at 500 begin add (cpu_op) Input Dims=float32[4]", "at 100 end", "at 400 end",
                          "at 1000 begin ProfilerStep#5 (user_annotation)", "at 1000 end"}))
        << sequence;
  }
}

// An arrow leads from the moment of each launch, within the call, to the kernel. Thread 43 has no track.
TEST(Perfetto, HasAnArrowFromEachLaunchToItsKernel) {
  TraceBuilder built;
  built.call({1000, 2000, name_id("conv")}, {}).call({3000, 4000, name_id("tail")}, {});
  TraceParts parts = built.parts({{0, 0}, 1});
  const auto kernel = [](const char *name, uint64_t launched, uint64_t begin, uint32_t thread) {
    Event made{};
    made.kind = EventKind::kDeviceWork, made.name = name_id(name), made.recordings = 1;
    made.begin = begin, made.end = begin + 100, made.device = {kDLOpenCL, 0};
    set_device_work(made, {launched, 10, thread, 0, 0, WorkKind::kKernel});
    return made;
  };
  const Event works[] = {kernel("second", 1900, 2500, 42), kernel("first", 1200, 1500, 42),
                         kernel("behind", 5000, 6000, 42), kernel("strange", 50, 7000, 43)};
  TraceTrack stream;
  stream.add_open(works);
  parts.tracks.push_back(stream);
  Lines found;
  for (const std::string &line : Dump(*trace_of(parts)).lines)
    if (line.find(" begin ") != std::string::npos || line.find(" instant ") != std::string::npos ||
        line.find(" end") != std::string::npos)
      found.push_back(line);
  EXPECT_EQ(found, (Lines{"2: at 0 begin conv (cpu_op)", "2: at 200 instant launch (launch) flow 1",
                          "2: at 700 instant launch (launch) flow 2", "2: at 100 end", "2: at 1000 begin tail (cpu_op)",
                          "2: at 1000 end", "2: at 1000 instant launch (launch) flow 3",
                          "3: at 0 begin first (kernel) ends flow 1", "3: at 100 end",
                          "3: at 900 begin second (kernel) ends flow 2", "3: at 100 end",
                          "3: at 3400 begin behind (kernel) ends flow 3", "3: at 100 end",
                          "3: at 900 begin strange (kernel)", "3: at 100 end"}));
}

// Times are those since the packet before of the same track. A kernel overlaps another one of its stream.
TEST(Perfetto, HasEventsOfAllKinds) {
  TraceParts parts = full_trace();
  const Event overlapping = work_of("overlapping", {10'850, 0, 7, 0, 0, WorkKind::kKernel}, 11'550, 11'700, 0);
  parts.tracks.emplace_back().add_open({&overlapping, 1});
  EXPECT_EQ(Dump(*trace_of(parts)).lines,
            (Lines{"1: at 0 clock 6=0 clock 1=0",
                   "1: track 1 process 41 server",
                   "2: track 2 in 1 thread 41 7 main",
                   "2: cleared clock 6=1000 clock 64=1000 incremental defaults track 2 clock 64",
                   "2: at 0 begin ProfilerStep#3 (user_annotation)",
                   "2: at 500 begin outer (user_annotation) Call stack=a.py(12): serve; from a.py:serve:12",
                   "2: at 500 begin main (user_annotation)",
                   "2: at 1000 begin conv (cpu_op) Input Dims=float32[2, 3], int64[]",
                   "2: at 300 begin conv (parallel_task)",
                   "2: at 200 instant moment (user_annotation) Call stack=a.py(13): serve; from a.py:serve:13",
                   "2: at 400 end",
                   "2: at 100 instant launch (launch) flow 1",
                   "2: at 1000 end",
                   "2: at 2000 begin add (cpu_op)",
                   "2: at 100 instant copy (launch) flow 2",
                   "2: at 100 instant fill (launch) flow 3",
                   "2: at 300 end",
                   "2: at 2500 end",
                   "2: at 500 end",
                   "2: at 300 instant launch (launch) flow 4",
                   "2: at 50 instant launch (launch) flow 5",
                   "2: at 150 end",
                   "3: track 3 in 1 thread 41 8 worker",
                   "3: cleared dropped clock 6=3300 clock 64=3300 incremental defaults track 3 clock 64",
                   "3: at 0 begin conv (parallel_task)",
                   "3: at 500 end",
                   "3: at 5200 begin open (user_annotation) Open=1",
                   "4: track 4 in 1 'opencl:0, default stream' is device clock: bracketed events, error 100 ns, offset "
                   "-500 ns, drift not known",
                   "4: cleared clock 6=4500 clock 64=4500 incremental defaults track 4 clock 64",
                   "4: at 0 begin conv_kernel (kernel) ends flow 1",
                   "4: at 1000 end",
                   "4: at 2800 begin fill (gpu_memset) ends flow 3",
                   "4: at 10 end",
                   "4: at 3190 begin late (kernel) ends flow 4",
                   "4: at 100 end",
                   "5: track 5 in 1 'opencl:0, default stream, overlapping 1' is device clock: bracketed events, error "
                   "100 ns, offset -500 ns, drift not known",
                   "5: cleared clock 6=11550 clock 64=11550 incremental defaults track 5 clock 64",
                   "5: at 0 begin overlapping (kernel) ends flow 5",
                   "5: at 150 end",
                   "6: track 6 in 1 'opencl:0, stream 2' is device clock: bracketed events, error 100 ns, offset -500 "
                   "ns, drift not known",
                   "6: cleared clock 6=8000 clock 64=8000 incremental defaults track 6 clock 64",
                   "6: at 0 begin copy (gpu_memcpy) ends flow 2",
                   "6: at 250 end",
                   "7: track 7 in 1 'opencl:0, overhead' is device clock: bracketed events, error 100 ns, offset -500 "
                   "ns, drift not known",
                   "7: cleared clock 6=8400 clock 64=8400 incremental defaults track 7 clock 64",
                   "7: at 0 begin flush (overhead)",
                   "7: at 100 end",
                   "8: cleared clock 6=3100 clock 64=3100 incremental defaults track 8 clock 64",
                   "8: track 9 in 1 'Memory of cpu:0: allocated' counter of unit 3",
                   "8: track 10 in 1 'Memory of cpu:0: reserved' counter of unit 3",
                   "8: at 0 count 164 of 9",
                   "8: at 0 count 200 of 10",
                   "8: track 11 in 1 'Memory of opencl:0: allocated' counter of unit 3",
                   "8: track 12 in 1 'Memory of opencl:0: reserved' counter of unit 3",
                   "8: at 100 count 32 of 11",
                   "8: at 0 count 64 of 12",
                   "8: at 2800 count 100 of 9",
                   "8: at 0 count 200 of 10",
                   "13: cleared clock 6=3600 clock 64=3600 incremental defaults track 13 clock 64",
                   "13: track 14 in 1 'Power (W)' counter of unit 0",
                   "13: at 0 value 12.5 of 14",
                   "13: at 100 value nan of 14"}));
}

TEST(Perfetto, CountsFromTheFirstEventOfMergedTraces) {
  TraceParts left = recorded(1), right = recorded(2);
  right.processes[0].unix_offset_ns = 0;  // its events were before the start of the first one's system
  right.processes[0].host = "";
  const Ref<Trace> one = trace_of(left), other = trace_of(right);
  const Trace *traces[] = {one.get(), other.get()};
  const Ref<Trace> both = merge_traces(traces, {.labels = {"left", "right"}});
  Lines found;
  for (const std::string &line : Dump(*both).lines)
    if (line.find("clock 6") != std::string::npos || line.find(" process ") != std::string::npos ||
        line.find(" thread ") != std::string::npos || line.find(" counter ") != std::string::npos)
      found.push_back(line.substr(0, line.find(" clock 64")));
  // The first event is that of the right one at 1500 ns.
  EXPECT_EQ(found, (Lines{"1: at 999000 clock 6=999000 clock 1=1000500", "1: track 1 process 77 left of here",
                          "2: track 2 process 10000077 right", "3: track 3 in 1 thread 77 42 main",
                          "3: cleared dropped clock 6=1000000", "4: cleared dropped clock 6=1002500",
                          "5: track 5 in 2 thread 10000077 42 main", "5: cleared dropped clock 6=0",
                          "6: cleared dropped clock 6=2500", "7: cleared clock 6=1000500",
                          "7: track 8 in 1 'Memory of cpu:0: allocated' counter of unit 3",
                          "7: track 9 in 1 'Memory of cpu:0: reserved' counter of unit 3",
                          "7: track 10 in 1 'Memory of cuda:1: allocated' counter of unit 3",
                          "7: track 11 in 1 'Memory of cuda:1: reserved' counter of unit 3", "12: cleared clock 6=500",
                          "12: track 13 in 2 'Memory of cpu:0: allocated' counter of unit 3",
                          "12: track 14 in 2 'Memory of cpu:0: reserved' counter of unit 3",
                          "12: track 15 in 2 'Memory of cuda:1: allocated' counter of unit 3",
                          "12: track 16 in 2 'Memory of cuda:1: reserved' counter of unit 3"}));
}

}  // namespace
}  // namespace opd
