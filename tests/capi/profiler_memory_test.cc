// Memory in traces: events of blocks, sums of spans, timelines. Expected values are computed from the requests made
// here and from the statistics of the device.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <thread>

#include "support/add_one.h"
#include "support/checked_kv_cache.h"
#include "support/memory_timelines.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

TEST(AMemoryTrace, HasEachBlockThatComesAndGoes) {
  const Profiler profiler = memory_profiler();
  const auto live = static_cast<int64_t>(stats().live_bytes);
  std::vector<uint64_t> addresses;
  profiler.start();
  {
    const Tensor a = block(4000), b = block(40);
    addresses = {address_of(a), address_of(b)};
  }
  const Trace trace = profiler.stop();
  const std::vector<Change> found = changes(trace);
  ASSERT_EQ(found.size(), 4u);
  const int64_t bytes[] = {4000, 40, -40, -4000}, allocated[] = {4000, 4040, 4000, 0};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found[i].bytes, bytes[i]) << i;
    EXPECT_EQ(found[i].allocated, live + allocated[i]) << i;
    EXPECT_GE(found[i].reserved, found[i].allocated) << i;
    EXPECT_EQ(found[i].address, addresses[i == 1 || i == 2]) << i;
    EXPECT_TRUE(i == 0 || found[i].us >= found[i - 1].us) << i;
  }
  EXPECT_EQ(trace.size(), 0u) << "they are no calls";
  const std::regex counter(R"re("ph":"C","name":"Memory of cpu:0","pid":\d+,"tid":0,"ts":[0-9.]+,"args":)re"
                           R"re(\{"Allocated":(\d+),"Reserved":(\d+)\})re");
  const std::string json = trace.chrome();
  EXPECT_EQ(std::distance(std::sregex_iterator(json.begin(), json.end(), counter), {}), 4);
  const std::string perfetto = trace.write(OPD_TRACE_PERFETTO);
  EXPECT_NE(perfetto.find("Memory of cpu:0: allocated"), std::string::npos);
  EXPECT_NE(perfetto.find("Memory of cpu:0: reserved"), std::string::npos);
}

TEST(AMemoryTrace, IsEmptyUnlessItIsAskedFor) {
  const Profiler plain;
  const Profiler other = memory_profiler();
  plain.start();
  other.start();
  { block(100); }
  const Trace with = other.stop();
  { block(100); }
  const Trace without = plain.stop();
  EXPECT_EQ(changes(with).size(), 2u);
  EXPECT_EQ(without.chrome().find("emory"), std::string::npos);
  EXPECT_EQ(without.table().find("Mem"), std::string::npos);
  const Report events = without.report(OPD_TRACE_EVENTS);
  opd_buffer *bytes = nullptr;
  for (const opd_trace_format form :
       {OPD_TRACE_MEMORY_TIMELINE, OPD_TRACE_MEMORY_TIMELINE_RAW, OPD_TRACE_MEMORY_TIMELINE_HTML})
    expect_error(opd_trace_write(without.get(), form, nullptr, &bytes), OPD_FAILED_PRECONDITION, "profile_memory");
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.profile_memory = 2;
  opd_profiler *refused = nullptr;
  expect_error(opd_profiler_create(&options, &refused), OPD_INVALID_ARGUMENT, "profile_memory must be 0 or 1");
}

TEST(AMemoryTrace, HasBlocksOfThreadsThatDoNothingElse) {
  const Profiler profiler = memory_profiler();
  profiler.start();
  Tensor handed_on = block(512);
  std::thread([&] { handed_on = Tensor(); }).join();
  const std::vector<Change> found = changes(profiler.stop());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].bytes, 512);
  EXPECT_EQ(found[1].bytes, -512);
  EXPECT_EQ(found[0].address, found[1].address);
  EXPECT_NE(found[0].thread, found[1].thread);
}

TEST(AMemoryTrace, HasTheSizeOfAnEarlierBlockThatIsFreed) {
  Tensor before = block(12345);
  const Tensor stays = block(777);
  const auto live = static_cast<int64_t>(stats().live_bytes);
  const Profiler profiler = memory_profiler();
  profiler.start();
  before = Tensor();
  { block(10); }
  const Trace trace = profiler.stop();
  const std::vector<Change> found = changes(trace);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].bytes, -12345);
  const std::vector<Step> steps = raw_timeline(trace);
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0].ns, -1);
  EXPECT_EQ(steps[0].action, kPreexisting);
  EXPECT_EQ(steps[0].bytes, 12345);
  EXPECT_EQ(steps[0].category, kUnknown);
  EXPECT_EQ(steps[1].action, kPreexisting);
  EXPECT_EQ(steps[1].bytes, live - 12345) << "what stays is one block";
  EXPECT_EQ(steps[2].action, kDestroy);
  EXPECT_EQ(steps[2].bytes, -12345);
  EXPECT_GT(steps[2].ns, 1'600'000'000'000'000'000) << "Unix time";
  const std::vector<int64_t> sums = timeline_sums(trace);
  ASSERT_FALSE(sums.empty());
  EXPECT_EQ(sums.front(), live);
  EXPECT_EQ(sums.back(), live - 12345);
}

TEST(AMemoryTrace, HasTheDevicesPeak) {
  std::mt19937 random(7);
  const Profiler profiler = memory_profiler();
  check(opd_memory_reset_peak(kCpu));
  const auto live = static_cast<int64_t>(stats().live_bytes);
  profiler.start();
  {
    std::vector<Tensor> blocks;
    for (int i = 0; i < 500; ++i) {
      if (blocks.empty() || random() % 5 < 3) blocks.push_back(block(1 + random() % 10000));
      else blocks.erase(blocks.begin() + random() % blocks.size());
    }
  }
  const Trace trace = profiler.stop();
  const auto peak = static_cast<int64_t>(stats().peak_bytes);
  int64_t now = live, replayed = live, told = live;
  for (const Change &change : changes(trace)) {
    now += change.bytes;
    EXPECT_EQ(change.allocated, now);
    replayed = std::max(replayed, now);
    told = std::max(told, change.allocated);
  }
  EXPECT_EQ(now, live);
  EXPECT_EQ(replayed, peak);
  EXPECT_EQ(told, peak);
  int64_t sum = 0, highest = 0;
  for (const Step &step : raw_timeline(trace)) highest = std::max(highest, sum += step.bytes);
  EXPECT_EQ(highest, peak);
  EXPECT_EQ(sum, live);
}

// A program whose storage of 16 bytes leaves it with the result. Naive memory goes back to the system; pooled memory
// stays reserved.
TEST(AMemoryTrace, DistinguishesReservedFromAllocatedMemory) {
  for (const auto kind : {OPD_ALLOCATOR_NAIVE, OPD_ALLOCATOR_POOLED}) {
    auto options = opdyno::defaults(opd_vm_options_init);
    options.allocators = &kind;
    const Tensor x = floats({1, 2, 3, 4});
    const Profiler profiler = memory_profiler();
    {
      const Vm vm = make_vm(kAddOne, &options);
      check(opd_memory_trim(kCpu));
      profiler.start();
      vm.call("main", x);
      vm.call("main", x);
    }
    const std::vector<Change> found = changes(profiler.stop());
    ASSERT_FALSE(found.empty());
    std::map<uint64_t, int64_t> blocks;
    for (const Change &change : found) {
      EXPECT_EQ(std::abs(change.bytes), 16) << kind;
      EXPECT_GE(change.allocated, 0);
      EXPECT_GE(change.reserved, change.allocated) << kind;
      blocks[change.address] += change.bytes;
    }
    for (const auto &[address, left] : blocks) EXPECT_EQ(left, 0) << address;
    const Change &first = found.front(), &last = found.back();
    EXPECT_EQ(first.bytes, 16);
    EXPECT_EQ(last.bytes, -16);
    EXPECT_EQ(last.allocated, first.allocated - 16) << "what it was before";
    EXPECT_EQ(last.reserved, kind == OPD_ALLOCATOR_NAIVE ? first.reserved - 64 : first.reserved);
  }
  check(opd_memory_trim(kCpu));
}

TEST(AMemoryTrace, IsWholeWhenManyThreadsShareBlocks) {
  constexpr int kThreads = 4, kBlocks = 500;
  const auto live = static_cast<int64_t>(stats().live_bytes);
  const Profiler profiler = memory_profiler();
  profiler.start();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([] {
      std::vector<Tensor> kept;
      for (int i = 0; i < kBlocks; ++i) {
        kept.push_back(block(64));  // of one size, so that addresses go from thread to thread
        if (i % 3 == 2) kept.clear();
      }
    });
  for (std::thread &thread : threads) thread.join();
  const Trace trace = profiler.stop();
  EXPECT_EQ(trace.dropped(), 0u);
  std::map<uint64_t, std::vector<Change>> by_address;
  for (const Change &change : changes(trace)) {
    EXPECT_GE(change.allocated, 0);
    EXPECT_LE(change.allocated, live + kThreads * 3 * 64) << "no thread holds more than three";
    by_address[change.address].push_back(change);
  }
  size_t count = 0;
  for (auto &[address, list] : by_address) {
    std::ranges::stable_sort(list, {}, &Change::us);
    int64_t sum = 0;
    for (const Change &change : list) sum += change.bytes;
    EXPECT_EQ(sum, 0);
    count += list.size();
  }
  EXPECT_EQ(count, 2u * kThreads * kBlocks);
  std::map<int64_t, int> actions;
  for (const Step &step : raw_timeline(trace)) ++actions[step.action];
  EXPECT_EQ(actions[kCreate], kThreads * kBlocks);
  EXPECT_EQ(actions[kDestroy], kThreads * kBlocks) << "a block comes back before another thread gets it";
  EXPECT_LE(actions[kPreexisting], 1) << "only what stays";
}

TEST(AMemoryTrace, SumsAllocatedAndFreedBytesBySpan) {
  const Profiler profiler = memory_profiler();
  Tensor b;
  profiler.start();
  {
    const Range outer("outer");
    Tensor a = block(3000);
    {
      const Range inner("inner");
      b = block(2 << 20);
      a = Tensor();
      opdyno::mark("a moment");
    }
    {
      const Range inner("inner");
      block(100);
    }
    std::thread([] { block(1 << 20); }).join();
  }
  const Trace trace = profiler.stop();
  const Report report = trace.report(OPD_TRACE_EVENTS);
  const auto expect_row = [&](const Report &of, size_t row, int64_t total, int64_t self) {
    EXPECT_EQ(number_of(call_value(of, row, "Memory (bytes)")), static_cast<double>(total)) << row;
    EXPECT_EQ(number_of(call_value(of, row, "Self Memory (bytes)")), static_cast<double>(self)) << row;
  };
  constexpr int64_t kLarge = 2 << 20;
  ASSERT_EQ(report.count(OPD_REPORT_CALLS), 4u) << "outer, inner, the mark, inner";
  expect_row(report, 0, kLarge, 3000);  // b ends after the range, a within an inner one
  expect_row(report, 1, kLarge - 3000, kLarge - 3000);
  expect_row(report, 2, 0, 0);
  expect_row(report, 3, 0, 0);
  const Report averages = trace.report(OPD_TRACE_KEY_AVERAGES);
  ASSERT_EQ(averages.count(OPD_REPORT_CALLS), 2u);
  expect_row(averages, 0, kLarge, 3000);
  expect_row(averages, 1, kLarge - 3000, kLarge - 3000);

  auto options = opdyno::defaults(opd_trace_write_options_init);
  options.sort_by = "self_cpu_memory_usage";
  const std::string table = trace.table(&options);
  EXPECT_NE(table.find("CPU time avg       CPU Mem  Self CPU Mem    # of Calls  \n"), std::string::npos) << table;
  EXPECT_NE(table.find("       2.00 MB       2.00 MB             2  \n"), std::string::npos) << table;
  EXPECT_NE(table.find("       2.00 MB       2.93 KB             1  \n"), std::string::npos) << table;
  EXPECT_LT(table.find("inner"), table.find("outer")) << "the largest comes first";
}

TEST(AMemoryTrace, HasTheUseOfEachBlock) {
  define_add_one();
  define("test.memory.scratch", [](const opd_value *, int32_t, opd_value *) { block(333); });
  const char *const program = R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.memory.scratch(%x)
  call test.add_one(%x, %t)
  ret %t
})";
  const Vm vm(Executable::assemble(program).to_module());
  const Profiler profiler = memory_profiler();
  profiler.start();
  const Tensor x = floats({1, 2, 3, 4});
  const opdyno::Value result = vm.call("main", x);
  const Trace trace = profiler.stop();
  std::vector<std::pair<int64_t, int64_t>> made;  // bytes and categories
  for (const Step &step : raw_timeline(trace))
    if (step.action == kCreate) made.emplace_back(step.bytes, step.category);
  const std::vector<std::pair<int64_t, int64_t>> expected = {{16, kInput}, {16, kActivation}, {333, kTemporary}};
  EXPECT_EQ(made, expected);
}

TEST(AMemoryTrace, RecognisesParametersByTheirOrigin) {
  std::vector<std::pair<int64_t, int64_t>> made;
  const Tensor weight = block(100);
  const auto params = opdyno::Params::create();
  params.set("weight", weight);
  const std::string bytes = params.save_bytes();
  auto copied = opdyno::defaults(opd_params_options_init);
  copied.copy = 1;
  const Profiler profiler = memory_profiler();
  profiler.start();
  const auto loaded = opdyno::Params::open_bytes(bytes, &copied);
  const Tensor read = loaded.get_tensor("weight");
  const Executable program =
      Executable::assemble(".const = tensor(float32, (2), 0x0000803f00000040)\n.func main(x) {\n  ret %x\n}");
  const Trace trace = profiler.stop();
  for (const Step &step : raw_timeline(trace))
    if (step.action == kCreate) made.emplace_back(step.bytes, step.category);
  const std::vector<std::pair<int64_t, int64_t>> expected = {{100, kParameter}, {8, kParameter}};
  EXPECT_EQ(made, expected);
  EXPECT_NE(trace.chrome().find(",\"Use\":\"parameter\"}}"), std::string::npos);
}

// Caches hold a lock while they grow.
TEST(AMemoryTrace, HasTheGrowthOfCaches) {
  const auto builtin = [](const char *name) { return opdyno::Function::global(name); };
  const auto append = builtin("vm.builtin.attention_kv_cache_append");
  const Tensor row = floats({1, 2}, {1, 2});
  const Profiler profiler = memory_profiler();
  profiler.start();
  {
    opdyno::Value cache = builtin("vm.builtin.attention_kv_cache_create")(row, shape_of({1, 2}), 1);
    cache = append(cache, row);
  }
  const Trace trace = profiler.stop();
  std::vector<int64_t> sizes;
  for (const Change &change : changes(trace)) sizes.push_back(change.bytes);
  EXPECT_EQ(sizes, (std::vector<int64_t>{8, 16, -8, -16})) << "one row, then two";
  for (const Step &step : raw_timeline(trace))
    if (step.action != kPreexisting) { EXPECT_EQ(step.category, kCache); }
}

TEST(AMemoryTrace, DistinguishesCachesFromTheirScratchMemory) {
  attention::Sizes sizes;
  sizes.layers = 3;
  sizes.kinds = {0, 0, 0};
  const Profiler profiler = memory_profiler();
  profiler.start();
  const opdyno::KvState state(attention::make_cache(sizes));
  std::map<int64_t, int64_t> bytes;  // by category
  for (const Step &step : raw_timeline(profiler.stop())) bytes[step.category] += step.bytes;
  // Float32 keys and values of one head of size 2, in pages of 16 tokens; and the whole is what the state tells.
  const int64_t pages = 4 * 3 * state.stats().num_pages * 16 * 2 * 2;
  EXPECT_EQ(bytes[kCache], pages);
  EXPECT_EQ(bytes[kTemporary], static_cast<int64_t>(state.stats().bytes) - pages);
}

TEST(AMemoryTrace, RecognisesAnEarlierCacheByItsNewRows) {
  attention::Checked cache(attention::Sizes{});
  const int64_t pages = 4 * cache.typed.stats().num_pages * 16 * 2 * 2;
  cache.add(0);
  const Profiler profiler = memory_profiler();
  profiler.start();
  cache.run({0}, {3});
  std::vector<std::pair<int64_t, int64_t>> steps;  // bytes and categories
  for (const Step &step : raw_timeline(profiler.stop()))
    if (step.action == kIncrementVersion) steps.emplace_back(step.bytes, step.category);
  const std::vector<std::pair<int64_t, int64_t>> expected = {{-pages, kUnknown}, {pages, kCache}};
  EXPECT_EQ(steps, expected);
}

TEST(AMemoryTrace, IsOfOneDevice) {
  const Profiler profiler = memory_profiler();
  profiler.start();
  { block(1); }
  const Trace trace = profiler.stop();
  auto options = opdyno::defaults(opd_trace_write_options_init);
  for (const char *cpu : {"cpu", "cpu:0"}) {
    options.device = cpu;
    EXPECT_EQ(trace.write(OPD_TRACE_MEMORY_TIMELINE, &options), trace.write(OPD_TRACE_MEMORY_TIMELINE)) << cpu;
  }
  opd_buffer *bytes = nullptr;
  for (const auto form : {OPD_TRACE_MEMORY_TIMELINE, OPD_TRACE_MEMORY_TIMELINE_RAW, OPD_TRACE_MEMORY_TIMELINE_HTML}) {
    options.device = "cuda:0";
    expect_error(opd_trace_write(trace.get(), form, &options, &bytes), OPD_INVALID_ARGUMENT,
                 "the trace has no memory of cuda:0; it has that of cpu:0");
  }
  options.device = "the moon";
  expect_error(opd_trace_write(trace.get(), OPD_TRACE_MEMORY_TIMELINE, &options, &bytes), OPD_INVALID_ARGUMENT,
               "\"the moon\" is not a device");
}

TEST(AMemoryTrace, CountsEventsThatFindNoRoom) {
  const Profiler profiler = memory_profiler(5);
  profiler.start();
  for (int i = 0; i < 4; ++i) block(10);
  const Trace trace = profiler.stop();
  EXPECT_EQ(changes(trace).size(), 5u);
  EXPECT_EQ(trace.dropped(), 3u);
  EXPECT_EQ(raw_timeline(trace).back().action, kCreate);
}

}  // namespace
