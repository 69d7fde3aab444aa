// Timelines and tables of memory, of traces made by hand. Ticks are nanoseconds of Unix time.
#include "analysis/memory_timeline.h"

#include <gtest/gtest.h>

#include "analysis/formats/trace_formats.h"
#include "analysis/formats/trace_table.h"
#include "base/error.h"
#include "support/trace_builder.h"
#include "trace/memory_event.h"

namespace opd {
namespace {

constexpr DLDevice kHostDevice = {kDLCPU, 0}, kGpu = {kDLCUDA, 1};

Ref<Trace> trace_of(TraceBuilder &built) {
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

TEST(MemoryTimeline, TellsWhatBlocksAreForAndHasARowForEachMicrosecond) {
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
  const Ref<Trace> trace = trace_of(built);
  EXPECT_EQ(text_of(*trace, write_memory_timeline_raw),
            "[[-1,1,300,7],\n[-1,1,700,7],\n[2000,2,64,0],\n[3000,4,-300,7],\n[3500,2,10,2],\n"
            "[5000,2,20,3],\n[6000,4,-20,3],\n[7000,2,30,4]]\n");
  EXPECT_EQ(text_of(*trace, write_memory_timeline),
            "[[2,2,3,5,6,7],[[0,0,0,0,0,0,0,0,1000],[0,64,0,0,0,0,0,0,1000],[0,64,0,10,0,0,0,0,700],"
            "[0,64,0,10,20,0,0,0,700],[0,64,0,10,0,0,0,0,700],[0,64,0,10,0,30,0,0,700]]]\n");
}

TEST(MemoryTimeline, TakesABlockThatComesAgainForFreed) {
  TraceBuilder built;
  built.memory(EventKind::kAlloc, 1000, kHostDevice, {1, 5, 5, 64});
  built.memory(EventKind::kAlloc, 2000, kHostDevice, {1, 8, 8, 64});  // the event of its return was dropped
  EXPECT_EQ(text_of(*trace_of(built), write_memory_timeline_raw), "[[1000,2,5,2],\n[2000,4,-5,2],\n[2000,2,8,2]]\n");
}

TEST(MemoryTimeline, IsOfTheDeviceThatIsNotTheHostIfThereIsOne) {
  TraceBuilder built;
  built.memory(EventKind::kAlloc, 1000, kHostDevice, {1, 5, 5, 64});
  built.memory(EventKind::kAlloc, 2000, kGpu, {1, 70, 70, 128});
  const Ref<Trace> trace = trace_of(built);
  EXPECT_EQ(text_of(*trace, write_memory_timeline_raw), "[[2000,2,70,2]]\n");
  EXPECT_EQ(text_of(*trace, write_memory_timeline_raw, "cuda:1"), "[[2000,2,70,2]]\n");
  EXPECT_EQ(text_of(*trace, write_memory_timeline_raw, "cuda:0"), "[]\n");
  EXPECT_EQ(text_of(*trace, write_memory_timeline_raw, "cpu"), "[[1000,2,5,2]]\n");
}

TEST(MemoryTimeline, OfALongRecordingIsASmallPageThatKeepsThePeak) {
  TraceBuilder built;
  uint64_t live = 0;
  for (uint64_t i = 0; i < 50'000; ++i) {
    const uint64_t bytes = i == 31'417 ? 987'654'321 : 100;
    built.memory(EventKind::kAlloc, 1000 * (2 * i + 1), kHostDevice, {1 + i, bytes, live += bytes, 0});
    built.memory(EventKind::kFree, 1000 * (2 * i + 2), kHostDevice, {1 + i, bytes, live -= bytes, 0});
  }
  const std::string page = text_of(*trace_of(built), write_memory_timeline_html);
  EXPECT_LT(page.size(), size_t{400'000});
  EXPECT_NE(page.find("peak:987654321,"), std::string::npos);
  EXPECT_NE(page.find("\n[62834.000,[0,987654321,0,0,0],-1,987654321]"), std::string::npos) << "in its row";
  EXPECT_NE(page.find("\n[62834.000,62835.000,987654321,2,-1],"), std::string::npos) << "the first of the blocks";
}

TEST(MemoryTimeline, HasNamesThatCannotEndTheScript) {
  TraceBuilder built;
  built.memory(EventKind::kAlloc, 2000, kHostDevice, {1, 5, 5, 64});
  built.range(1000, 3000, "</script><b>\"");
  const std::string page = text_of(*trace_of(built), write_memory_timeline_html);
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
      trace_table(*trace_of(built), {}),
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
