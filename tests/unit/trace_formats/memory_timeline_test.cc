// Timelines and tables of memory, of traces made by hand. Ticks are nanoseconds of Unix time.
#include "trace_views/memory_timeline.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/chrome_trace.h"
#include "support/trace_builder.h"
#include "trace/record/memory_event.h"
#include "trace_formats/trace_formats.h"

namespace opd {
namespace {

constexpr DLDevice kHostDevice = {kDLCPU, 0}, kGpu = {kDLCUDA, 1};

Ref<Trace> memory_trace(TraceBuilder &built) {
  TraceParts parts = built.parts({{0, 0}, 1});
  parts.has_memory = true;
  return make_object<Trace>(std::move(parts));
}

template <class Write>
std::string text_of(const Trace &trace, const Write &write, std::string_view device = "") {
  StringSink sink;
  write(trace, device, sink);
  return sink.take();
}

TEST(MemoryTimeline, HasTheUseOfBlocksAndARowForEachMicrosecond) {
  TraceBuilder built;
  // 1000 bytes were in use before, of which 300 at address 7 come back.
  built.memory(EventKind::kAlloc, 2000, kHostDevice, {1, 64, 1064, 2000}, memory_use_name(MemoryUse::kParameter));
  built.memory(EventKind::kFree, 3000, kHostDevice, {7, 300, 764, 2000});
  built.memory(EventKind::kAlloc, 3500, kHostDevice, {2, 10, 774, 2000});
  built.memory(EventKind::kAlloc, 5000, kHostDevice, {3, 20, 794, 2000}, memory_use_name(MemoryUse::kWorkspace));
  built.memory(EventKind::kFree, 6000, kHostDevice, {3, 20, 774, 2000});
  built.memory(EventKind::kAlloc, 7000, kHostDevice, {3, 30, 804, 2000});
  built.call({4500, 6500, name_id("kernel")}, {});
  built.run(1, 4000, 8000, name_id("main"));
  const Ref<Trace> trace = memory_trace(built);
  EXPECT_EQ(text_of(*trace, write_memory_timeline_raw),
            "[[-1,1,300,7],\n[-1,1,700,7],\n[2000,2,64,0],\n[3000,4,-300,7],\n[3500,2,10,2],\n"
            "[5000,2,20,3],\n[6000,4,-20,3],\n[7000,2,30,4]]\n");
  EXPECT_EQ(text_of(*trace, write_memory_timeline),
            "[[2,2,3,5,6,7],[[0,0,0,0,0,0,0,0,1000],[0,64,0,0,0,0,0,0,1000],[0,64,0,10,0,0,0,0,700],"
            "[0,64,0,10,20,0,0,0,700],[0,64,0,10,0,0,0,0,700],[0,64,0,10,0,30,0,0,700]]]\n");
}

// Blocks that a call allocates and frees, of 10 bytes with two versions, and of 20 at its very end, are its own. That
// of 30 outlasts it, that of 40 is the run's.
TEST(MemoryTimeline, ShowsBlocksThatLiveWithinACallAsTemporary) {
  TraceBuilder built;
  uint64_t live = 0;
  const auto at = [&](EventKind kind, uint64_t tick, uint64_t bytes) {
    live += kind == EventKind::kAlloc ? bytes : kind == EventKind::kFree ? -bytes : 0;
    built.memory(kind, tick, kHostDevice, {bytes, bytes, live, 0});
  };
  at(EventKind::kAlloc, 4200, 40);
  for (const uint64_t bytes : {10, 20, 30}) at(EventKind::kAlloc, 5000 + bytes, bytes);
  at(EventKind::kBind, 5100, 10), at(EventKind::kBind, 5200, 10);
  at(EventKind::kFree, 6000, 10), at(EventKind::kFree, 6500, 20), at(EventKind::kFree, 6501, 30);
  at(EventKind::kFree, 7000, 40);
  built.call({4500, 6500, name_id("kernel")}, {});
  built.run(1, 4000, 8000, name_id("main"));
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline_raw),
            "[[4200,2,40,4],\n[5010,2,10,3],\n[5020,2,20,3],\n[5030,2,30,4],\n[5200,3,-10,3],\n[5200,3,10,3],\n"
            "[6000,4,-10,3],\n[6500,4,-20,3],\n[6501,4,-30,4],\n[7000,4,-40,4]]\n");
}

TEST(MemoryTimeline, TreatsABlockThatIsAllocatedAgainAsFreed) {
  TraceBuilder built;
  built.memory(EventKind::kAlloc, 1000, kHostDevice, {1, 5, 5, 64});
  built.memory(EventKind::kBind, 1500, kHostDevice, {1, 5, 5, 64});
  built.memory(EventKind::kAlloc, 2000, kHostDevice, {1, 8, 8, 64});  // the event of its return was dropped
  built.memory(EventKind::kBind, 2500, kHostDevice, {1, 8, 8, 64});   // it is filled, as the block before
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline_raw),
            "[[1000,2,5,2],\n[2000,4,-5,2],\n[2000,2,8,2]]\n");
}

TEST(MemoryTimeline, PrefersADeviceOtherThanTheHost) {
  TraceBuilder built;
  built.memory(EventKind::kAlloc, 1000, kHostDevice, {1, 5, 5, 64});
  built.memory(EventKind::kAlloc, 2000, kGpu, {1, 70, 70, 128});
  const Ref<Trace> trace = memory_trace(built);
  EXPECT_EQ(text_of(*trace, write_memory_timeline_raw), "[[2000,2,70,2]]\n");
  EXPECT_EQ(text_of(*trace, write_memory_timeline_raw, "cuda:1"), "[[2000,2,70,2]]\n");
  EXPECT_THROW(text_of(*trace, write_memory_timeline_raw, "cuda:0"), Exception) << "the trace has nothing of it";
  EXPECT_EQ(text_of(*trace, write_memory_timeline_raw, "cpu"), "[[1000,2,5,2]]\n");
}

// Blocks of 10 (an input that a run writes), 20 (made and written in a run, then by the user), 64 (a parameter) and 8
// bytes (scratch memory).
void add_versions(TraceBuilder &built) {
  const auto at = [&](EventKind kind, uint64_t tick, uint64_t address, uint64_t bytes, uint64_t live,
                      NameId name = kNoName) {
    built.memory(kind, tick, kHostDevice, {address, bytes, live, 0}, name);
  };
  at(EventKind::kAlloc, 1000, 1, 10, 10);
  at(EventKind::kBind, 1100, 1, 10, 10);  // is filled
  at(EventKind::kAlloc, 1500, 2, 64, 74, memory_use_name(MemoryUse::kParameter));
  at(EventKind::kAlloc, 3000, 3, 20, 94);
  at(EventKind::kBind, 3100, 3, 20, 94);
  at(EventKind::kBind, 3200, 3, 20, 94);
  at(EventKind::kBind, 3300, 1, 10, 94);
  at(EventKind::kBind, 3400, 2, 64, 94);
  at(EventKind::kBind, 3450, 2, 64, 94);
  at(EventKind::kAlloc, 3500, 4, 8, 102, memory_use_name(MemoryUse::kWorkspace));
  at(EventKind::kBind, 3600, 4, 8, 102);
  at(EventKind::kBind, 3700, 4, 8, 102);
  at(EventKind::kFree, 3800, 4, 8, 94);
  built.run(1, 2000, 4000, name_id("main"));
  at(EventKind::kBind, 5000, 3, 20, 94);
  at(EventKind::kBind, 5100, 1, 10, 94, memory_use_name(MemoryUse::kResult));
  at(EventKind::kFree, 6000, 3, 20, 74);
}

// Sums stay the same if a block is written that remains what it is.
TEST(MemoryTimeline, HasARowOnlyWhereASumChanges) {
  TraceBuilder built;
  built.memory(EventKind::kAlloc, 1'000, kHostDevice, {1, 64, 64, 0}, memory_use_name(MemoryUse::kParameter));
  built.memory(EventKind::kBind, 2'000, kHostDevice, {1, 64, 64, 0});
  built.memory(EventKind::kBind, 3'000, kHostDevice, {1, 64, 64, 0});
  built.memory(EventKind::kAlloc, 4'000, kHostDevice, {2, 8, 72, 0});
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline_raw),
            "[[1000,2,64,0],\n[3000,3,-64,0],\n[3000,3,64,0],\n[4000,2,8,2]]\n");
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline),
            "[[1,4],[[0,64,0,0,0,0,0,0,0],[0,64,0,8,0,0,0,0,0]]]\n");
  TraceBuilder empty;
  EXPECT_EQ(text_of(*memory_trace(empty), write_memory_timeline), "[[],[]]\n");
  EXPECT_EQ(text_of(*memory_trace(empty), write_memory_timeline_raw), "[]\n");
}

TEST(MemoryTimeline, HasAVersionForEachWriteAndItsCategory) {
  TraceBuilder built;
  add_versions(built);
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline_raw),
            "[[1000,2,10,2],\n[1500,2,64,0],\n[3000,2,20,4],\n"
            "[3200,3,-20,4],\n[3200,3,20,4],\n"  // the second tensor in it
            "[3300,3,-10,2],\n[3300,3,10,4],\n"  // a run wrote the input
            "[3450,3,-64,0],\n[3450,3,64,0],\n"  // a parameter stays one
            "[3500,2,8,3],\n[3700,3,-8,3],\n[3700,3,8,3],\n[3800,4,-8,3],\n"
            "[5000,3,-20,4],\n[5000,3,20,2],\n"  // the user wrote a result
            "[5100,3,-10,4],\n[5100,3,10,4],\n[6000,4,-20,2]]\n");
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline),
            "[[1,3,5,6],[[0,64,0,10,0,0,0,0,0],[0,64,0,0,0,30,0,0,0],[0,64,0,20,0,10,0,0,0],[0,64,0,0,0,10,0,0,0]]]\n");
}

TEST(MemoryTimeline, HasPartsOfBlocksByCategoryOnItsPage) {
  TraceBuilder built;
  add_versions(built);
  const std::string page = text_of(*memory_trace(built), write_memory_timeline_html);
  EXPECT_NE(page.find("Allocations: 4. Writes to blocks that had contents: 6.</p>"), std::string::npos);
  // The scratch memory, which is smaller, comes last.
  EXPECT_NE(page.find("blocks:[\n[0.500,-1,64,0,-1],\n"), std::string::npos);
  for (const char *row : {"\n[2.000,4.000,20,4,0]", "\n[4.000,5.000,20,2,-1]", "\n[0.000,2.300,10,2,-1]",
                          "\n[2.300,-1,10,4,0]", "\n[2.500,2.800,8,3,0]]"})
    EXPECT_NE(page.find(row), std::string::npos) << row;
  EXPECT_NE(page.find("\n[2.300,[64,0,0,0,30,0],0,0,1]"), std::string::npos) << "a row of the chart";
  EXPECT_EQ(page.find("\n[2.200,"), std::string::npos) << "of the chart, which does not change then";
  EXPECT_NE(page.find("names:[\"main\"]"), std::string::npos);
}

TEST(MemoryTimeline, RecognisesEarlierBlocksByTheirFirstWrite) {
  TraceBuilder built;  // 1000 bytes were in use before
  built.memory(EventKind::kBind, 2000, kHostDevice, {7, 300, 1000, 0});
  built.memory(EventKind::kBind, 3000, kHostDevice, {8, 0, 1000, 0});  // nobody knows whether it is the library's
  built.memory(EventKind::kBind, 4000, kHostDevice, {7, 0, 1000, 0});
  built.memory(EventKind::kFree, 5000, kHostDevice, {7, 300, 700, 0});
  built.memory(EventKind::kBind, 6000, kHostDevice, {7, 0, 700, 0});  // it is not there any more
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline_raw),
            "[[-1,1,300,7],\n[-1,1,700,7],\n[2000,3,-300,7],\n[2000,3,300,2],\n[4000,3,-300,2],\n[4000,3,300,2],\n"
            "[5000,4,-300,2]]\n");
}

TEST(MemoryTimeline, HasEventsOfOneTickInTheOrderThatTheyCanHave) {
  TraceBuilder built;
  for (const EventKind kind : {EventKind::kAlloc, EventKind::kBind, EventKind::kBind, EventKind::kFree})
    built.memory(kind, 1000, kHostDevice, {1, 5, 5, 64});
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline_raw),
            "[[1000,2,5,2],\n[1000,3,-5,2],\n[1000,3,5,2],\n[1000,4,-5,2]]\n");
}

TEST(MemoryTimeline, HasVersionsOfItsDeviceOnly) {
  TraceBuilder built;
  built.memory(EventKind::kAlloc, 1000, kHostDevice, {1, 5, 5, 64});
  for (int i = 0; i < 2; ++i) built.memory(EventKind::kBind, 2000, kGpu, {1, 5, 5, 64});
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline_raw), "[[1000,2,5,2]]\n")
      << "and they choose no device: nothing of it came or went";
  EXPECT_EQ(text_of(*memory_trace(built), write_memory_timeline_raw, "cuda:1"),
            "[[-1,1,5,7],\n[2000,3,-5,7],\n[2000,3,5,2],\n[2000,3,-5,2],\n[2000,3,5,2]]\n");
}

// Versions change no bytes, so they are only in the timeline.
TEST(MemoryTimeline, LeavesAllOtherFormsAsTheyAreWithoutVersions) {
  const auto made = [](bool with_versions) {
    TraceBuilder built;
    const auto version = [&](uint64_t tick, DLDevice device) {
      if (with_versions) built.memory(EventKind::kBind, tick, device, {1, 160, 99, 98});
    };
    built.memory(EventKind::kAlloc, 1500, kHostDevice, {1, 160, 160, 256});
    version(1600, kHostDevice);
    version(2100, kGpu);
    built.call({2000, 3000, name_id("kernel")}, {});
    version(3100, kHostDevice);
    built.memory(EventKind::kFree, 3500, kHostDevice, {1, 160, 0, 0});
    built.run(1, 1000, 4000, name_id("main"));
    return memory_trace(built);
  };
  const Ref<Trace> with = made(true), without = made(false);
  EXPECT_EQ(with->parts.tracks[0].binds.size(), 3u);
  EXPECT_EQ(trace_table(*with, {}), trace_table(*without, {}));
  EXPECT_EQ(chrome_trace(*with), chrome_trace(*without));
  const auto expect_equal = [&](void (*write)(const Trace &, ByteSink &)) {
    StringSink a, b;
    write(*with, a), write(*without, b);
    EXPECT_EQ(a.take(), b.take());
  };
  expect_equal(write_perfetto);
  expect_equal(write_html);
  expect_equal(write_speedscope);
}

TEST(MemoryTimeline, IsASmallPageWithThePeakOfALongRecording) {
  TraceBuilder built;
  uint64_t live = 0;
  for (uint64_t i = 0; i < 50'000; ++i) {
    const uint64_t bytes = i == 31'417 ? 987'654'321 : 100;
    built.memory(EventKind::kAlloc, 1000 * (2 * i + 1), kHostDevice, {1 + i, bytes, live += bytes, 0});
    built.memory(EventKind::kFree, 1000 * (2 * i + 2), kHostDevice, {1 + i, bytes, live -= bytes, 0});
  }
  const std::string page = text_of(*memory_trace(built), write_memory_timeline_html);
  EXPECT_LT(page.size(), size_t{400'000});
  EXPECT_NE(page.find("peak:987654321,"), std::string::npos);
  EXPECT_NE(page.find("\n[62834.000,[0,0,987654321,0,0,0],-1,987654321]"), std::string::npos) << "in its row";
  EXPECT_NE(page.find("\n[62834.000,62835.000,987654321,2,-1],"), std::string::npos) << "the first of the blocks";
}

// 1000 parts of three steps. Of each the first step is in the chart, and that with the least and that with the most
// bytes; of the last part also the last step. Every other part has 5, 0, 9 bytes, the next one 0, 5, 0: its least is
// the first one.
TEST(MemoryTimeline, KeepsTheExtremesOfEachPartOfALongRecording) {
  TraceBuilder built;
  uint64_t tick = 0, live = 0;
  const auto step = [&](EventKind kind, uint64_t bytes) {
    live += kind == EventKind::kAlloc ? bytes : -bytes;
    built.memory(kind, tick += 1000, kHostDevice, {bytes, bytes, live, 0});
  };
  for (int i = 0; i < 500; ++i) {
    step(EventKind::kAlloc, 5), step(EventKind::kFree, 5), step(EventKind::kAlloc, 9);
    step(EventKind::kFree, 9), step(EventKind::kAlloc, 5), step(EventKind::kFree, 5);
  }
  std::string page = text_of(*memory_trace(built), write_memory_timeline_html);
  const size_t begin = page.find("rows:[") + 6, end = page.find("],\nblocks:");
  std::string expected;
  const auto row = [&](int at, int now, int change) {
    expected += concat(expected.empty() ? "" : ",", "\n[", at, ".000,[0,0,", now, ",0,0,0],-1,", change, "]");
  };
  for (int i = 0; i < 3000; i += 6) {
    row(i, 5, 5), row(i + 1, 0, -5), row(i + 2, 9, 9);
    row(i + 3, 0, -9), row(i + 4, 5, 5);
  }
  row(2999, 0, -5);
  EXPECT_EQ(page.substr(begin, end - begin), expected);
  const std::string blocks = page.substr(end, page.find("],\nnames:") - end);
  EXPECT_EQ(std::count(blocks.begin(), blocks.end(), '\n'), 1 + 1500) << "all blocks, by their size";
  EXPECT_LT(blocks.rfind(",9,2,-1]"), blocks.find(",5,2,-1]"));
}

TEST(MemoryTimeline, HasNamesThatCannotEndTheScript) {
  TraceBuilder built;
  built.memory(EventKind::kAlloc, 2000, kHostDevice, {1, 5, 5, 64});
  built.range(1000, 3000, "</script><b>\"");
  const std::string page = text_of(*memory_trace(built), write_memory_timeline_html);
  EXPECT_NE(page.find(R"(names:["\u003c/script>\u003cb>\""])"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
}

TEST(TraceTable, HasTorchsColumnsOfMemory) {
  TraceBuilder built;
  built.memory(EventKind::kFree, 500, kHostDevice, {9, 1 << 20, 0, 0});  // within no span
  built.memory(EventKind::kAlloc, 1500, kHostDevice, {1, 160, 160, 0});
  built.memory(EventKind::kAlloc, 2500, kGpu, {1, 194'683, 194'683, 0});
  built.memory(EventKind::kFree, 3500, kHostDevice, {2, 108'360, 0, 0});
  built.range(2000, 4000, "inner").range(1000, 5000, "outer");
  EXPECT_EQ(
      trace_table(*memory_trace(built), {}),
      R"(---------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  
     Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg       CPU Mem  Self CPU Mem      CUDA Mem  Self CUDA Mem    # of Calls  
---------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  
    outer        50.00%       2.000us       100.00%       4.000us       4.000us    -105.66 KB         160 B     190.12 KB           0 B             1  
    inner        50.00%       2.000us        50.00%       2.000us       2.000us    -105.82 KB    -105.82 KB     190.12 KB     190.12 KB             1  
---------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  ------------  
Self CPU time total: 4.000us
)");
}

TEST(TraceTable, HasNoColumnsOfMemoryThatWasNotRecorded) {
  TraceBuilder built;
  built.range(1000, 5000, "range");
  const auto trace = make_object<Trace>(built.parts({{0, 0}, 1}));
  EXPECT_EQ(trace_table(*trace, {}).find("Mem"), std::string::npos);
  EXPECT_THROW(memory_timeline(*trace, ""), Exception);
}

}  // namespace
}  // namespace opd
