// Programs on several devices: the CPU's, which share its memory but have allocators and statistics of their own.
#include <atomic>
#include <thread>

#include "support/opdyno_test.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

constexpr DLDevice kOne = {kDLCPU, 1}, kTwo = {kDLCPU, 2};

// out[i] = in[i] + 1 for four floats. As TVM's kernels it wants its arguments on one device.
void define_add_one() {
  define("test.add_one_there", [](const opd_value *args, int32_t, opd_value *) {
    const auto device_of = [](const opd_value &v) {
      return opd_tensor_view(reinterpret_cast<opd_tensor *>(v.u.object))->device.device_id;
    };
    if (device_of(args[0]) != device_of(args[1])) throw std::runtime_error("the arguments lie on two devices");
    for (int i = 0; i < 4; ++i) elements(args[1])[i] = elements(args[0])[i] + 1;
  });
}

Vm vm_on(const std::vector<DLDevice> &devices, const std::string &program,
         const opd_allocator_kind *allocators = nullptr) {
  define_add_one();
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.devices = devices.data();
  options.num_devices = static_cast<int32_t>(devices.size());
  options.allocators = allocators;
  return Vm(Executable::assemble(program).to_module(), &options);
}

Tensor tensor_on(DLDevice device, const std::vector<float> &values) {
  const int64_t dims[] = {static_cast<int64_t>(values.size())};
  Tensor tensor;
  check(opd_tensor_create(dims, 1, {kDLFloat, 32, 1}, device, tensor.out()));
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

opd_memory_stats stats_of(DLDevice device) {
  opd_memory_stats stats{};
  stats.struct_size = sizeof stats;
  check(opd_memory_get_stats(device, &stats));
  return stats;
}

int32_t device_of(const Value &tensor) {
  return opd_tensor_view(reinterpret_cast<opd_tensor *>(tensor.view().u.object))->device.device_id;
}

// (x + 1 on device 0, x + 2 on device 1), of a VM on cpu:1 and cpu:2.
const char *const kTwoDevices = R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.add_one_there(%x, %a)
  %b = call vm.builtin.to_device(%a, 1, 2)
  %t = call vm.builtin.alloc_storage(%vm, shape(16), 1, dtype(uint8), "global")
  %c = call vm.builtin.alloc_tensor(%t, 0, shape(4), dtype(float32))
  call test.add_one_there(%b, %c)
  %all = call vm.builtin.make_tuple(%a, %c)
  ret %all
})";

std::string alloc_on(const std::string &index, const std::string &size = "shape(16)") {
  return ".func main(size) {\n  %s = call vm.builtin.alloc_storage(%vm, " + size + ", " + index +
         ", dtype(uint8), \"global\")\n  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))\n  ret "
         "%t\n}\n";
}

}  // namespace

TEST(VmOnTwoDevices, AllocatesAndComputesOnEach) {
  const Vm vm = vm_on({kOne, kTwo}, kTwoDevices);
  for (int round = 0; round < 3; ++round) {
    const Value both = vm.call("main", tensor_on(kOne, {1, 2, 3, 4}));
    const Value first = item_of(both, 0), second = item_of(both, 1);
    EXPECT_EQ(to_floats(first), (std::vector<float>{2, 3, 4, 5}));
    EXPECT_EQ(to_floats(second), (std::vector<float>{3, 4, 5, 6}));
    EXPECT_EQ(device_of(first), 1);
    EXPECT_EQ(device_of(second), 2);
  }
}

TEST(VmOnTwoDevices, CountsMemoryOfEachDevice) {
  const Vm vm = vm_on({kOne, kTwo}, alloc_on("1"));
  const opd_memory_stats one = stats_of(kOne), two = stats_of(kTwo);
  const Value kept = vm.call("main", 0);
  EXPECT_EQ(stats_of(kTwo).live_bytes, two.live_bytes + 16);
  EXPECT_EQ(stats_of(kTwo).alloc_count, two.alloc_count + 1);
  EXPECT_EQ(stats_of(kOne).alloc_count, one.alloc_count);
  EXPECT_EQ(stats_of(kOne).live_bytes, one.live_bytes);
}

TEST(VmOnTwoDevices, TakesSizesComputedAtRunTime) {
  const Vm vm = vm_on({kOne, kTwo}, alloc_on("1", "%size"));
  const opd_memory_stats before = stats_of(kTwo);
  const Value size = shape_of({64}), kept = vm.call("main", size);
  EXPECT_EQ(device_of(kept), 2);
  EXPECT_EQ(stats_of(kTwo).live_bytes, before.live_bytes + 64);
}

TEST(VmOnTwoDevices, HasAnAllocatorOfItsOwnKindForEach) {
  const opd_allocator_kind kinds[] = {OPD_ALLOCATOR_POOLED, OPD_ALLOCATOR_NAIVE};
  const uint64_t hits[] = {1, 0};  // of the second call, once the first one's result is gone
  for (const int index : {0, 1}) {
    const DLDevice device = index ? kTwo : kOne;
    const Vm vm = vm_on({kOne, kTwo}, alloc_on(std::to_string(index), "shape(123456)"), kinds);
    const opd_memory_stats before = stats_of(device);
    for (int round = 0; round < 2; ++round) vm.call("main", 0);
    EXPECT_EQ(stats_of(device).alloc_count, before.alloc_count + 2);
    EXPECT_EQ(stats_of(device).pool_hit_count, before.pool_hit_count + hits[index]);
  }
}

TEST(VmOnTwoDevices, TakesTheLastForTheHost) {
  EXPECT_EQ(device_of(vm_on({kOne, kTwo}, alloc_on("-1")).call("main", 0)), 2);
  EXPECT_EQ(device_of(vm_on({kTwo, kOne}, alloc_on("-1")).call("main", 0)), 1);
  EXPECT_EQ(device_of(vm_on({kOne}, alloc_on("-1", "%size")).call("main", shape_of({16}))), 1);
}

TEST(VmOnTwoDevices, RefusesADeviceThatItLacks) {
  for (const char *size : {"shape(16)", "%size"})
    for (const char *index : {"2", "-2"}) {
      const Vm vm = vm_on({kOne, kTwo}, alloc_on(index, size));
      expect_throws([&] { vm.call("main", shape_of({16})); }, OPD_OUT_OF_RANGE,
                    "device index " + std::string(index) + " of a VM with 2 devices");
    }
}

TEST(VmOnTwoDevices, KeepsConstantsOnTheFirst) {
  const Vm vm = vm_on({kTwo, kOne}, R"(
.const = tensor(float32, (4), 0x0000803f000000400000404000008040)
.func main() {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.add_one_there(c[0], %a)
  ret %a
})");
  EXPECT_EQ(to_floats(vm.call("main")), (std::vector<float>{2, 3, 4, 5}));
}

TEST(VmOnTwoDevices, CopiesViewsWhereTheyLie) {
  const Vm vm = vm_on({kOne, kTwo}, kTwoDevices);
  const Tensor x = tensor_on(kOne, {1, 2, 3, 4});
  const opd_value view = opd_dltensor(opd_tensor_view(x.get()));
  Value both;
  check(opd_vm_call(vm.get(), "main", &view, 1, nullptr, both.out()));
  EXPECT_EQ(to_floats(item_of(both, 1)), (std::vector<float>{3, 4, 5, 6}));
}

TEST(VmOnTwoDevices, RefusesTensorsOfOthers) {
  const Vm vm = vm_on({kOne, kTwo}, kTwoDevices);
  expect_throws([&] { vm.call("main", floats({1, 2, 3, 4})); }, OPD_INVALID_ARGUMENT, "must lie on cpu:1");
}

TEST(VmOnTwoDevices, HasTotalsOfEachInAReport) {
  const Vm vm = vm_on({kOne, kTwo}, kTwoDevices);
  const Tensor x = tensor_on(kOne, {1, 2, 3, 4});
  const opd_value argument = arg(x);
  Report report;
  check(opd_vm_profile(vm.get(), "main", &argument, 1, nullptr, nullptr, report.out(), nullptr));
  const std::string json = report.json();
  EXPECT_NE(json.find("\"cpu1\":"), std::string::npos) << json;
  EXPECT_NE(json.find("\"cpu2\":"), std::string::npos) << json;
}

TEST(MemoryStatistics, CountTheMemoryOfIdleFrames) {
  const Vm vm = vm_on({kTwo}, R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(4096), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.add_one_there(%x, %a)
  %t = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %b = call vm.builtin.alloc_tensor(%t, 0, shape(4), dtype(float32))
  call test.add_one_there(%a, %b)
  ret %b
})");
  const opd_memory_stats before = stats_of(kTwo);
  const Tensor x = tensor_on(kTwo, {1, 2, 3, 4});  // 16 bytes
  {
    const Value result = vm.call("main", x);
    EXPECT_EQ(stats_of(kTwo).live_bytes, before.live_bytes + 16 + 4096 + 16);
    EXPECT_EQ(stats_of(kTwo).idle_bytes, before.idle_bytes + 4096);  // the result is in use
    EXPECT_EQ(stats_of(kOne).idle_bytes, stats_of({kDLCPU, 63}).idle_bytes);
  }
  vm.call("main", x);  // the same memory again
  EXPECT_EQ(stats_of(kTwo).live_bytes - stats_of(kTwo).idle_bytes, before.live_bytes - before.idle_bytes + 16);
  check(opd_vm_trim(vm.get()));
  EXPECT_EQ(stats_of(kTwo).idle_bytes, before.idle_bytes);
  EXPECT_EQ(stats_of(kTwo).live_bytes, before.live_bytes + 16);
}

TEST(MemoryStatistics, CanBeReadWhileVmsRun) {
  const Vm vm = vm_on({kOne, kTwo}, kTwoDevices);
  const uint64_t before = stats_of(kTwo).idle_bytes;
  std::atomic<bool> reading{true};
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 3; ++c)
    callers.emplace_back([&] {
      const Tensor x = tensor_on(kOne, {1, 2, 3, 4});
      do wrong += to_floats(item_of(vm.call("main", x), 1)) != std::vector<float>{3, 4, 5, 6};
      while (reading);
    });
  for (int i = 0; i < 200; ++i)
    EXPECT_LE(stats_of(kTwo).idle_bytes - before, 4 * 16);  // 16 bytes per run, one more than callers
  reading = false;
  for (auto &caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}
