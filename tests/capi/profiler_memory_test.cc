// Memory in traces: events of blocks, sums of spans, timelines. Expected values are computed from the requests made
// here and from the statistics of the device.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <regex>
#include <thread>

#include "support/add_one.h"
#include "support/c_artifact.h"
#include "support/recording_files.h"
#include "support/report_test.h"
#include "support/tensors.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

constexpr DLDevice kCpu = {kDLCPU, 0};

Profiler memory_profiler(uint64_t max_events = 1 << 20) {
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.profile_memory = 1;
  options.max_events = max_events;
  return Profiler(&options);
}

opd_memory_stats stats() {
  opd_memory_stats now{};
  now.struct_size = sizeof now;
  check(opd_memory_get_stats(kCpu, &now));
  return now;
}

struct Change {
  int64_t thread;
  double us;
  int64_t reserved, allocated, bytes;
  uint64_t address;
};
// The events "[memory]" of a Chrome trace, in their order there: thread by thread, each by time.
std::vector<Change> changes(const Trace &trace) {
  const std::regex event(
      R"re("ph":"i","cat":"cpu_instant_event","s":"t","name":"\[memory\]","pid":\d+,"tid":(\d+),"ts":(-?[0-9.]+),)re"
      R"re("args":\{"Total Reserved":(-?\d+),"Total Allocated":(-?\d+),"Bytes":(-?\d+),"Device Id":-1,"Device Type":0,)re"
      R"re("Addr":(\d+),)re");
  std::vector<Change> found;
  const std::string json = trace.chrome();
  for (std::sregex_iterator at(json.begin(), json.end(), event), end; at != end; ++at)
    found.push_back({std::stoll((*at)[1]), std::stod((*at)[2]), std::stoll((*at)[3]), std::stoll((*at)[4]),
                     std::stoll((*at)[5]), std::stoull((*at)[6])});
  return found;
}

struct Step {
  int64_t ns, action, bytes, category;
};
enum : int64_t { kPreexisting = 1, kCreate = 2, kIncrementVersion = 3, kDestroy = 4 };
enum : int64_t { kParameter = 0, kInput = 2, kTemporary = 3, kActivation = 4, kUnknown = 7 };
std::vector<Step> raw_timeline(const Trace &trace) {
  const std::regex row(R"(\[(-?\d+),(\d),(-?\d+),(\d)\])");
  const std::string json = trace.write(OPD_TRACE_MEMORY_TIMELINE_RAW);
  std::vector<Step> found;
  for (std::sregex_iterator at(json.begin(), json.end(), row), end; at != end; ++at)
    found.push_back({std::stoll((*at)[1]), std::stoll((*at)[2]), std::stoll((*at)[3]), std::stoll((*at)[4])});
  return found;
}

// [times, sizes]: the sums of the rows.
std::vector<int64_t> timeline_sums(const Trace &trace) {
  const std::string json = trace.write(OPD_TRACE_MEMORY_TIMELINE);
  const std::regex row(R"(\[0((?:,-?\d+){8})\])");
  std::vector<int64_t> sums;
  for (std::sregex_iterator at(json.begin(), json.end(), row), end; at != end; ++at) {
    std::stringstream numbers((*at)[1].str());
    int64_t sum = 0;
    char comma;
    for (int64_t number; numbers >> comma >> number;) sum += number;
    sums.push_back(sum);
  }
  return sums;
}

Tensor block(int64_t bytes) { return Tensor({bytes}, "uint8"); }
uint64_t address_of(const Tensor &tensor) { return reinterpret_cast<uintptr_t>(tensor.data<uint8_t>()); }

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

TEST(AMemoryTrace, KnowsTheSizeOfABlockFromBeforeTheStart) {
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
TEST(AMemoryTrace, TellsReservedFromAllocatedMemory) {
  for (const int32_t kind : {OPD_ALLOCATOR_NAIVE, OPD_ALLOCATOR_POOLED}) {
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

TEST(AMemoryTrace, AddsUpWhatSpansAllocatedAndGaveBack) {
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

TEST(AMemoryTrace, SaysWhatBlocksAreFor) {
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

TEST(AMemoryTrace, KnowsParametersByWhereTheyComeFrom) {
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
  std::vector<int64_t> sizes;
  for (const Change &change : changes(profiler.stop())) sizes.push_back(change.bytes);
  EXPECT_EQ(sizes, (std::vector<int64_t>{8, 16, -8, -16})) << "one row, then two";
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
  options.device = "cuda:0";
  EXPECT_EQ(trace.write(OPD_TRACE_MEMORY_TIMELINE, &options), "[[],[]]\n");
  EXPECT_EQ(trace.write(OPD_TRACE_MEMORY_TIMELINE_RAW, &options), "[]\n");
  options.device = "the moon";
  opd_buffer *bytes = nullptr;
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

// ---- versions

using Row = std::vector<int64_t>;  // action, bytes, category
// Of the blocks of these sizes, which only the test uses.
std::vector<Row> rows_of(const Trace &trace, const std::vector<int64_t> &sizes) {
  std::vector<Row> found;
  for (const Step &step : raw_timeline(trace))
    if (std::ranges::count(sizes, std::abs(step.bytes))) found.push_back({step.action, step.bytes, step.category});
  return found;
}
std::vector<Row> joined(std::initializer_list<std::vector<Row>> parts) {
  std::vector<Row> all;
  for (const auto &part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
std::vector<Row> version(int64_t bytes, int64_t old, int64_t now) {
  return {{kIncrementVersion, -bytes, old}, {kIncrementVersion, bytes, now}};
}
// What PyTorch's readers rely on: the sums of categories are never negative, and a time is never before another.
void expect_consistent(const Trace &trace) {
  std::map<int64_t, int64_t> sums;
  int64_t last = -1;
  for (const Step &step : raw_timeline(trace)) {
    EXPECT_GE(sums[step.category] += step.bytes, 0) << step.category;
    EXPECT_GE(step.ns, last);
    last = step.ns;
  }
  int64_t all = 0;
  for (const auto &[category, sum] : sums) all += sum;
  ASSERT_FALSE(timeline_sums(trace).empty());
  EXPECT_EQ(timeline_sums(trace).back(), all);
}

// Three tensors in one storage of 192 bytes, each at an offset of its own.
const char *const kThreeInOne = R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(192), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.add_one(%x, %a)
  %b = call vm.builtin.alloc_tensor(%s, 64, shape(4), dtype(float32))
  call test.add_one(%a, %b)
  %c = call vm.builtin.alloc_tensor(%s, 128, shape(4), dtype(float32))
  call test.add_one(%b, %c)
  ret %void
})";

TEST(AMemoryTrace, HasAVersionOfABlockForEachFurtherTensorInIt) {
  const Tensor x = floats({1, 2, 3, 4});
  const Profiler profiler = memory_profiler();
  const std::vector<Row> one = version(192, kActivation, kActivation);
  {
    const Vm vm = make_vm(kThreeInOne);
    profiler.start();
    vm.call("main", x);
    const Trace first = profiler.snapshot();
    EXPECT_EQ(rows_of(first, {192}), joined({{{kCreate, 192, kActivation}}, one, one}));
    vm.call("main", x);
  }
  const Trace trace = profiler.stop();
  EXPECT_EQ(rows_of(trace, {192}), joined({{{kCreate, 192, kActivation}},
                                           one,
                                           one,  // the second call has no block of its own
                                           one,
                                           one,
                                           one,
                                           {{kDestroy, -192, kActivation}}}));
  expect_consistent(trace);
  EXPECT_EQ(changes(trace).size(), 2u) << "a version is no event of Chrome's form";
}

TEST(AMemoryTrace, HasTheVersionsOfABlockFromBeforeTheStart) {
  const Tensor x = floats({1, 2, 3, 4});
  const Vm vm = make_vm(kThreeInOne);
  vm.call("main", x);  // the storage stays with the VM
  const auto live = static_cast<int64_t>(stats().live_bytes);
  const Profiler profiler = memory_profiler();
  profiler.start();
  vm.call("main", x);
  const Trace trace = profiler.stop();
  const std::vector<Row> one = version(192, kActivation, kActivation);
  EXPECT_EQ(rows_of(trace, {192}),
            joined({{{kPreexisting, 192, kUnknown}}, version(192, kUnknown, kActivation), one, one}));
  expect_consistent(trace);
  const std::vector<int64_t> sums = timeline_sums(trace);
  ASSERT_FALSE(sums.empty());
  EXPECT_EQ(sums.front(), live) << "the block is one of those that were in use";
  EXPECT_EQ(sums.back(), live);
}

// A tensor of a kernel's own, as for numbers: a scratch block that is written twice before the kernel ends.
TEST(AMemoryTrace, TellsTemporaryBlocksInAllTheirVersions) {
  define("test.memory.twice", [](const opd_value *, int32_t, opd_value *) {
    const Tensor scratch = block(333);
    const std::vector<uint8_t> bytes(333);
    for (int i = 0; i < 2; ++i) scratch.copy_from_bytes(bytes.data(), bytes.size());
  });
  const Vm vm(Executable::assemble(".func main(x) {\n  call test.memory.twice(%x)\n  ret %x\n}").to_module());
  const Profiler profiler = memory_profiler();
  profiler.start();
  vm.call("main", floats({1}));
  const Trace trace = profiler.stop();
  EXPECT_EQ(
      rows_of(trace, {333}),
      joined({{{kCreate, 333, kTemporary}}, version(333, kTemporary, kTemporary), {{kDestroy, -333, kTemporary}}}));
  expect_consistent(trace);
}

// add1(in, out) on four floats: a kernel that the memory plan knows, as it is compiled.
Vm planned_vm() {
  static const Module kernels = Module::load(build_library("memory_kernels", kArtifactHead + R"(
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides;
                 uint64_t byte_offset; } Tensor;
static float *at(const Any *v) {
  Tensor *t = (Tensor *)((char *)v->u.p + 24);
  return (float *)((char *)t->data + t->byte_offset);
}
int __tvm_ffi_add1(void *self, const Any *args, int32_t n, Any *result) {
  for (int i = 0; i < 4; ++i) at(args + 1)[i] = at(args)[i] + 1;
  return 0;
}
)"));
  const Module program = Executable::assemble(R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(80), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call add1(%x, %a)
  %b = call vm.builtin.alloc_tensor(%s, 64, shape(4), dtype(float32))
  call add1(%a, %b)
  ret %void
})")
                             .to_module();
  program.add_import(kernels);
  return Vm(program);
}

// The plan keeps the storage and its tensors in the frame, so no instruction makes them anew.
TEST(AMemoryTrace, HasAVersionOfAStorageForEachCallOfAPlannedProgram) {
  const Tensor x = floats({1, 2, 3, 4});
  const std::vector<Row> one = version(80, kActivation, kActivation);
  for (const bool all_calls : {false, true}) {  // with all calls, the program runs without the plan
    auto options = opdyno::defaults(opd_profiler_options_init);
    options.profile_memory = 1;
    options.all_calls = all_calls;
    const Profiler profiler(&options);
    const Vm vm = planned_vm();
    profiler.start();
    for (int i = 0; i < 3; ++i) vm.call("main", x);
    const Trace trace = profiler.stop();
    const std::vector<Row> created = {{kCreate, 80, kActivation}};
    EXPECT_EQ(rows_of(trace, {80}),
              all_calls ? joined({created, one, one, one, one, one}) : joined({created, one, one}));
    expect_consistent(trace);
  }
}

TEST(AMemoryTrace, HasAVersionForEachWriteOfTheLibraryButTheFirst) {
  const std::vector<uint8_t> bytes(771);
  const Profiler profiler = memory_profiler();
  profiler.start();
  {
    const Tensor from = block(771), to = block(770);
    from.copy_from_bytes(bytes.data(), 771);
    from.copy_from_bytes(bytes.data(), 771);
    const auto view = opdyno::Function::global("runtime.TVMTensorCreateView");
    const Tensor part = Tensor::of(view(to, shape_of({3}), DLDataType{kDLUInt, 8, 1}, 64));
    const Tensor three = block(3);
    for (int i = 0; i < 3; ++i) check(opd_tensor_copy(opd_tensor_view(three.get()), part.get()));
  }
  const Trace trace = profiler.stop();
  const std::vector<Row> one = version(770, kInput, kInput);
  EXPECT_EQ(rows_of(trace, {771}),
            joined({{{kCreate, 771, kInput}}, version(771, kInput, kInput), {{kDestroy, -771, kInput}}}));
  EXPECT_EQ(rows_of(trace, {770}), joined({{{kCreate, 770, kInput}}, one, one, {{kDestroy, -770, kInput}}}))
      << "a view at an offset is of its block";
  EXPECT_EQ(rows_of(trace, {3}).size(), 2u) << "reading is no version";
  expect_consistent(trace);
}

// A result's data begin within its storage.
TEST(AMemoryTrace, HasTheWritesToAResultThatIsAPartOfItsStorage) {
  const std::vector<float> numbers(4);
  const Vm vm = make_vm(R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(208), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 192, shape(4), dtype(float32))
  call test.add_one(%x, %t)
  ret %t
})");
  const Tensor x = floats({1, 2, 3, 4});
  const Profiler profiler = memory_profiler();
  profiler.start();
  const Tensor result = Tensor::of(vm.call("main", x)), row = result.reshape({2, 2});
  result.copy_from_bytes(numbers.data(), 16);
  row.copy_from_bytes(numbers.data(), 16);
  const Trace trace = profiler.stop();
  EXPECT_EQ(rows_of(trace, {208}),
            joined({{{kCreate, 208, kActivation}}, version(208, kActivation, kInput), version(208, kInput, kInput)}));
}

TEST(AMemoryTrace, KnowsWhoWroteABlockLast) {
  const std::vector<float> numbers(4);
  const Tensor x = floats({1, 2, 3, 4});
  auto options = opdyno::defaults(opd_call_options_init);
  const Vm vm = make_vm(kAddOne);
  const Profiler profiler = memory_profiler();
  profiler.start();
  {
    const Tensor result = Tensor::of(vm.call("main", x)), supplied({4}, "float32");
    result.copy_from_bytes(numbers.data(), 16);  // by the user: it is the next input
    opd_tensor *const outputs[] = {supplied.get()};
    options.outputs = outputs;
    options.num_outputs = 1;
    opd_value argument = arg(x);
    opdyno::Value ignored;
    for (int i = 0; i < 2; ++i) check(opd_vm_call(vm.get(), "main", &argument, 1, &options, ignored.out()));
  }
  const Trace trace = profiler.stop();
  std::vector<Row> rows;
  for (const Row &row : rows_of(trace, {16}))
    if (row[0] == kIncrementVersion) rows.push_back(row);
  const std::vector<Row> expected = joined({version(16, kActivation, kInput),         // the result
                                            version(16, kInput, kActivation),         // `supplied`
                                            version(16, kActivation, kActivation)});  // again
  std::vector<Row> found;  // in between, storages of the VM get new contents
  for (size_t at = 0; const Row &row : rows)
    if (at < expected.size() && row == expected[at]) found.push_back(row), ++at;
  EXPECT_EQ(found, expected);
  expect_consistent(trace);
}

TEST(AMemoryTrace, LeavesOutMemoryFromOutside) {
  alignas(64) static uint8_t outside[778];
  int64_t shape[] = {778};
  DLManagedTensor managed{{outside, kCpu, 1, {kDLUInt, 8, 1}, shape, nullptr, 0}, nullptr, nullptr};
  const std::vector<uint8_t> bytes(778);
  const Profiler profiler = memory_profiler();
  profiler.start();
  {
    const Tensor foreign = Tensor::from_dlpack(&managed);
    for (int i = 0; i < 3; ++i) foreign.copy_from_bytes(bytes.data(), 778);
    const Tensor own = block(778), back = Tensor::from_dlpack(own.to_dlpack());
    for (int i = 0; i < 3; ++i) back.copy_from_bytes(bytes.data(), 778);
  }
  const Trace trace = profiler.stop();
  const std::vector<Row> one = version(778, kInput, kInput);
  EXPECT_EQ(rows_of(trace, {778}), joined({{{kCreate, 778, kInput}}, one, one, {{kDestroy, -778, kInput}}}))
      << "of the block that went out and came back";
  expect_consistent(trace);
}

TEST(AMemoryTrace, HasTheWritesToCaches) {
  const auto builtin = [](const char *name) { return opdyno::Function::global(name); };
  const auto append = builtin("vm.builtin.attention_kv_cache_append");
  const Tensor row = floats(std::vector<float>(50), {1, 50});
  const Profiler profiler = memory_profiler();
  profiler.start();
  {
    opdyno::Value cache = builtin("vm.builtin.attention_kv_cache_create")(row, shape_of({2, 50}), 1);
    cache = append(cache, row);
    cache = builtin("vm.builtin.attention_kv_cache_update")(cache, floats(std::vector<float>(100), {2, 50}));
    const Tensor view = Tensor::of(builtin("vm.builtin.attention_kv_cache_view")(cache));
    const std::vector<float> rows(100);
    view.copy_from_bytes(rows.data(), 400);
  }
  const Trace trace = profiler.stop();
  const std::vector<Row> one = version(400, kInput, kInput);
  const std::vector<Row> expected = joined({{{kCreate, 400, kInput}}, one, one, one});
  std::vector<Row> found = rows_of(trace, {400});
  std::erase_if(found, [](const Row &each) { return each[0] == kDestroy; });
  const auto update = std::ranges::count(found, Row{kCreate, 400, kInput});
  EXPECT_EQ(update, 2) << "the cache, and what it is updated with";
  found.erase(std::ranges::find(found.rbegin(), found.rend(), Row{kCreate, 400, kInput}).base() - 1);
  EXPECT_EQ(found, expected);
}

TEST(AMemoryTrace, OfAFileIsThatOfMemory) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  RecordingOptions in_file(path.c_str()), in_memory;
  in_file.profile_memory = in_memory.profile_memory = 1;
  const Profiler filed(&in_file), kept(&in_memory);
  const Tensor x = floats({1, 2, 3, 4});
  filed.start();
  kept.start();
  {
    const Vm vm = make_vm(kThreeInOne);
    for (int i = 0; i < 1500; ++i) vm.call("main", x);  // some blocks of the file
  }
  const Trace expected = kept.stop(), given = filed.stop(), loaded = Trace::load(path.c_str());
  const std::vector<Row> rows = rows_of(expected, {192});
  EXPECT_EQ(rows.size(), 2u + 2 * (3 * 1500 - 1));
  EXPECT_EQ(rows_of(given, {192}), rows);
  EXPECT_EQ(rows_of(loaded, {192}), rows);
  EXPECT_EQ(loaded.write(OPD_TRACE_MEMORY_TIMELINE_RAW), given.write(OPD_TRACE_MEMORY_TIMELINE_RAW));
  EXPECT_EQ(loaded.dropped(), 0u);
}

TEST(AMemoryTrace, HasVersionsOfEachMergedProcess) {
  const Tensor x = floats({1, 2, 3, 4});
  const Vm vm = make_vm(kThreeInOne);
  const Profiler profiler = memory_profiler();
  std::vector<Trace> traces;
  for (int i = 0; i < 2; ++i) {
    profiler.start();
    vm.call("main", x);
    traces.push_back(profiler.stop());
  }
  const Trace merged = Trace::merge({traces[0], traces[1]});
  std::map<Row, int> count;
  for (const Row &row : rows_of(merged, {192})) ++count[row];
  const std::map<Row, int> expected = {{{kCreate, 192, kActivation}, 1},
                                       {{kPreexisting, 192, kUnknown}, 1},
                                       {{kIncrementVersion, -192, kUnknown}, 1},
                                       {{kIncrementVersion, -192, kActivation}, 4},
                                       {{kIncrementVersion, 192, kActivation}, 5}};
  EXPECT_EQ(count, expected);
  expect_consistent(merged);
}

}  // namespace
