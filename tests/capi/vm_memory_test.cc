// Programs whose sizes vary must not keep memory of every size that they ever had. See OPD_ALLOCATOR_POOLED.
#include <fstream>
#include <random>
#include <string>

#include "support/sanitizers.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr int64_t kRow = 256 * sizeof(float);

// `varying` uses two storages of `size` bytes. One of them is the result's.
Module varying() {
  return Executable::assemble(R"(.func varying(size, shape) {
  %a = call vm.builtin.alloc_storage(%vm, %size, 0, dtype(uint8))
  %x = call vm.builtin.alloc_tensor(%a, 0, %shape, dtype(float32))
  %b = call vm.builtin.alloc_storage(%vm, %size, 0, dtype(uint8))
  %y = call vm.builtin.alloc_tensor(%b, 0, %shape, dtype(float32))
  ret %y
})")
      .to_module();
}

opd_memory_stats stats() { return opdyno::memory_stats({kDLCPU, 0}); }
uint64_t idle_bytes() {
  const opd_memory_stats now = stats();
  return now.reserved_bytes - now.live_bytes + now.idle_bytes;
}

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

// Calls the program with sizes from 1 to `rows` rows, writes to each result, and returns the greatest number of bytes in
// use.
uint64_t call_with_many_sizes(const Vm &vm, int calls, int64_t rows) {
  std::mt19937 random(7);
  uint64_t most = 0;
  for (int i = 0; i < calls; ++i) {
    const int64_t n = static_cast<int64_t>(random()) % rows + 1;
    const Tensor y = Tensor::of(vm.call("varying", shape_of({n * kRow}), shape_of({n, 256})));
    std::fill_n(y.data<float>(), static_cast<size_t>(n) * 256, 1.0f);
    most = std::max(most, 2 * static_cast<uint64_t>(n * kRow));
  }
  return most;
}

}  // namespace

TEST(AProgramOfVaryingSizes, KeepsAtMostTwiceTheMemoryThatItUsedAnd8MiB) {
  check(opd_memory_trim({kDLCPU, 0}));
  const uint64_t before = idle_bytes();
  const Vm vm(varying());
  const uint64_t most = call_with_many_sizes(vm, rounds(8000), 4000);
  EXPECT_LE(idle_bytes(), before + 2 * most + 8 * kMiB);
}

TEST(AProgramOfVaryingSizes, ServesMostRequestsFromWhatItKept) {
  const Vm vm(varying());
  call_with_many_sizes(vm, rounds(1000), 4000);
  const opd_memory_stats before = stats();
  call_with_many_sizes(vm, rounds(1000), 4000);
  const opd_memory_stats after = stats();
  // A run's own storages are not requests to the device. The results are.
  EXPECT_LT(after.alloc_count - before.alloc_count, 2000u);
}

TEST(AProgramOfVaryingSizes, ReturnsItsMemoryToTheSystem) {
  if (has_sanitizer()) GTEST_SKIP() << "sanitizers keep freed memory";
  const Vm vm(varying());
  const uint64_t before = resident_bytes();
  call_with_many_sizes(vm, 1000, 100);  // below the C library's limit for mappings of their own
  call_with_many_sizes(vm, 1000, 4000);
  vm.trim();
  EXPECT_EQ(stats().idle_bytes, 0u);
  EXPECT_LT(resident_bytes(), before + 4 * kMiB);
}

TEST(AMemoryLimit, HoldsForMemoryThatIsKept) {
  check(opd_memory_trim({kDLCPU, 0}));
  auto options = opdyno::defaults(opd_vm_options_init);
  options.memory_limit_bytes = 8 * kMiB;
  const uint64_t before = stats().reserved_bytes;
  const Vm vm(varying(), &options);
  call_with_many_sizes(vm, rounds(2000), 3600);
  EXPECT_LE(stats().reserved_bytes, before + options.memory_limit_bytes);
}
