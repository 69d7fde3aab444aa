// Versions of blocks in memory timelines: whatever the library gives new contents.
#include <algorithm>
#include <cmath>
#include <map>

#include "support/add_one.h"
#include "support/c_artifact.h"
#include "support/memory_timelines.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

using Block = std::vector<int64_t>;  // action, bytes, category
// Of the blocks of these sizes, which only the test uses.
std::vector<Block> blocks_of(const Trace &trace, const std::vector<int64_t> &sizes) {
  std::vector<Block> found;
  for (const Step &step : raw_timeline(trace))
    if (std::ranges::count(sizes, std::abs(step.bytes))) found.push_back({step.action, step.bytes, step.category});
  return found;
}
std::vector<Block> joined(std::initializer_list<std::vector<Block>> parts) {
  std::vector<Block> all;
  for (const auto &part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
std::vector<Block> version(int64_t bytes, int64_t old, int64_t now) {
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

TEST(MemoryVersions, HasAVersionOfABlockForEachFurtherTensorInIt) {
  const Tensor x = floats({1, 2, 3, 4});
  const Profiler profiler = memory_profiler();
  const std::vector<Block> one = version(192, kActivation, kActivation);
  {
    const Vm vm = make_vm(kThreeInOne);
    profiler.start();
    vm.call("main", x);
    const Trace first = profiler.snapshot();
    EXPECT_EQ(blocks_of(first, {192}), joined({{{kCreate, 192, kActivation}}, one, one}));
    vm.call("main", x);
  }
  const Trace trace = profiler.stop();
  EXPECT_EQ(blocks_of(trace, {192}), joined({{{kCreate, 192, kActivation}},
                                             one,
                                             one,  // the second call has no block of its own
                                             one,
                                             one,
                                             one,
                                             {{kDestroy, -192, kActivation}}}));
  expect_consistent(trace);
  EXPECT_EQ(changes(trace).size(), 2u) << "a version is no event of Chrome's form";
}

TEST(MemoryVersions, HasTheVersionsOfABlockFromBeforeTheStart) {
  const Tensor x = floats({1, 2, 3, 4});
  const Vm vm = make_vm(kThreeInOne);
  vm.call("main", x);  // the storage stays with the VM
  const auto live = static_cast<int64_t>(stats().live_bytes);
  const Profiler profiler = memory_profiler();
  profiler.start();
  vm.call("main", x);
  const Trace trace = profiler.stop();
  const std::vector<Block> one = version(192, kActivation, kActivation);
  EXPECT_EQ(blocks_of(trace, {192}),
            joined({{{kPreexisting, 192, kUnknown}}, version(192, kUnknown, kActivation), one, one}));
  expect_consistent(trace);
  const std::vector<int64_t> sums = timeline_sums(trace);
  ASSERT_FALSE(sums.empty());
  EXPECT_EQ(sums.front(), live) << "the block is one of those that were in use";
  EXPECT_EQ(sums.back(), live);
}

// A tensor of a kernel's own, as for numbers: a scratch block that is written twice before the kernel ends.
TEST(MemoryVersions, MarksAllVersionsOfTemporaryBlocks) {
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
      blocks_of(trace, {333}),
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
TEST(MemoryVersions, HasAVersionOfAStorageForEachCallOfAPlannedProgram) {
  const Tensor x = floats({1, 2, 3, 4});
  const std::vector<Block> one = version(80, kActivation, kActivation);
  for (const bool all_calls : {false, true}) {  // with all calls, the program runs without the plan
    auto options = opdyno::defaults(opd_profiler_options_init);
    options.profile_memory = 1;
    options.all_calls = all_calls;
    const Profiler profiler(&options);
    const Vm vm = planned_vm();
    profiler.start();
    for (int i = 0; i < 3; ++i) vm.call("main", x);
    const Trace trace = profiler.stop();
    const std::vector<Block> created = {{kCreate, 80, kActivation}};
    EXPECT_EQ(blocks_of(trace, {80}),
              all_calls ? joined({created, one, one, one, one, one}) : joined({created, one, one}));
    expect_consistent(trace);
  }
}

TEST(MemoryVersions, HasAVersionForEachWriteOfTheLibraryButTheFirst) {
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
  const std::vector<Block> one = version(770, kInput, kInput);
  EXPECT_EQ(blocks_of(trace, {771}),
            joined({{{kCreate, 771, kInput}}, version(771, kInput, kInput), {{kDestroy, -771, kInput}}}));
  EXPECT_EQ(blocks_of(trace, {770}), joined({{{kCreate, 770, kInput}}, one, one, {{kDestroy, -770, kInput}}}))
      << "a view at an offset is of its block";
  EXPECT_EQ(blocks_of(trace, {3}).size(), 2u) << "reading is no version";
  expect_consistent(trace);
}

// A result's data begin within its storage.
TEST(MemoryVersions, HasTheWritesToAResultThatIsAPartOfItsStorage) {
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
  EXPECT_EQ(blocks_of(trace, {208}),
            joined({{{kCreate, 208, kActivation}}, version(208, kActivation, kInput), version(208, kInput, kInput)}));
}

TEST(MemoryVersions, HaveTheUseOfTheLastWriter) {
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
  std::vector<Block> rows;
  for (const Block &row : blocks_of(trace, {16}))
    if (row[0] == kIncrementVersion) rows.push_back(row);
  const std::vector<Block> expected = joined({version(16, kActivation, kInput),         // the result
                                              version(16, kInput, kActivation),         // `supplied`
                                              version(16, kActivation, kActivation)});  // again
  std::vector<Block> found;  // in between, storages of the VM get new contents
  for (size_t at = 0; const Block &row : rows)
    if (at < expected.size() && row == expected[at]) found.push_back(row), ++at;
  EXPECT_EQ(found, expected);
  expect_consistent(trace);
}

TEST(MemoryVersions, LeavesOutMemoryFromOutside) {
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
  const std::vector<Block> one = version(778, kInput, kInput);
  EXPECT_EQ(blocks_of(trace, {778}), joined({{{kCreate, 778, kInput}}, one, one, {{kDestroy, -778, kInput}}}))
      << "of the block that went out and came back";
  expect_consistent(trace);
}

TEST(MemoryVersions, HasTheWritesToCaches) {
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
  const std::vector<Block> one = version(400, kCache, kCache);
  const std::vector<Block> expected = joined({{{kCreate, 400, kCache}}, one, one, one});
  std::vector<Block> found = blocks_of(trace, {400});
  std::erase_if(found, [](const Block &each) { return each[0] == kDestroy; });
  EXPECT_EQ(std::erase(found, Block{kCreate, 400, kInput}), 1U) << "what the cache is updated with";
  EXPECT_EQ(found, expected);
}

TEST(MemoryVersions, AreTheSameInAFileAndInMemory) {
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
  const std::vector<Block> rows = blocks_of(expected, {192});
  EXPECT_EQ(rows.size(), 2u + 2 * (3 * 1500 - 1));
  EXPECT_EQ(blocks_of(given, {192}), rows);
  EXPECT_EQ(blocks_of(loaded, {192}), rows);
  EXPECT_EQ(loaded.write(OPD_TRACE_MEMORY_TIMELINE_RAW), given.write(OPD_TRACE_MEMORY_TIMELINE_RAW));
  EXPECT_EQ(loaded.dropped(), 0u);
}

TEST(MemoryVersions, HasVersionsOfEachMergedProcess) {
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
  std::map<Block, int> count;
  for (const Block &row : blocks_of(merged, {192})) ++count[row];
  const std::map<Block, int> expected = {{{kCreate, 192, kActivation}, 1},
                                         {{kPreexisting, 192, kUnknown}, 1},
                                         {{kIncrementVersion, -192, kUnknown}, 1},
                                         {{kIncrementVersion, -192, kActivation}, 4},
                                         {{kIncrementVersion, 192, kActivation}, 5}};
  EXPECT_EQ(count, expected);
  expect_consistent(merged);
}

}  // namespace
