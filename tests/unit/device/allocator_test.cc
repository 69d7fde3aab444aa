// The two allocators and the statistics, on a device made for the test that can run out of memory.
#include "device/memory/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "device/device.h"
#include "device/machine.h"
#include "device/memory/device_memory.h"

namespace opd {
namespace {

// A device of the host's memory with a capacity; counts what it gives out.
struct LimitedDevice final : DeviceBackend {
  std::mutex guard;
  std::map<void *, size_t> blocks;
  size_t capacity = size_t{1} << 40, held = 0;
  int allocations = 0;

  Value attr(int32_t id, opd_device_attr attr) override {
    return attr == OPD_ATTR_EXIST ? Value(id >= 0 && id < 64) : Value();
  }
  void *allocate(int32_t, size_t bytes, size_t alignment) override {
    std::scoped_lock lock(guard);
    if (held + bytes > capacity) return nullptr;
    void *data = std::aligned_alloc(alignment, bytes);
    if (!data) return nullptr;
    blocks[data] = bytes;
    held += bytes;
    ++allocations;
    return data;
  }
  void deallocate(int32_t, void *data, size_t bytes, size_t) noexcept override {
    std::scoped_lock lock(guard);
    EXPECT_EQ(blocks[data], bytes);
    blocks.erase(data);
    held -= bytes;
    std::free(data);
  }
  void copy(const void *, DLDevice, void *, DLDevice, size_t, void *) override {}
  void sync(int32_t) override {}
};

LimitedDevice &limited() {
  static auto *device = [] {
    auto *made = new LimitedDevice;
    register_device(kDLExtDev, *made);
    return made;
  }();
  return *device;
}

// Each test has a device of its own, since statistics cannot be reset.
DLDevice fresh_device() {
  static int32_t next = 0;
  limited().capacity = size_t{1} << 40;
  limited().allocations = 0;
  return {kDLExtDev, next++};
}

TEST(PooledSizes, AreSteppedBy64UpToAPageAndByPagesAbove) {
  EXPECT_EQ(pooled_size(0), 64u);
  EXPECT_EQ(pooled_size(1), 64u);
  EXPECT_EQ(pooled_size(65), 128u);
  EXPECT_EQ(pooled_size(4096), 4096u);
  EXPECT_EQ(pooled_size(4097), 8192u);
  EXPECT_EQ(pooled_size(100'000), 102'400u);  // 25 * 4096
}

TEST(ANaiveAllocator, GivesEveryBlockBackAtOnce) {
  const DLDevice device = fresh_device();
  auto &naive = Allocator::of(device, OPD_ALLOCATOR_NAIVE);
  void *data = naive.allocate(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
  EXPECT_EQ(memory_stats(device).live_bytes, 100u);
  EXPECT_EQ(memory_stats(device).reserved_bytes, 128u);
  naive.deallocate(data, 100);
  const auto stats = memory_stats(device);
  EXPECT_EQ(stats.live_bytes, 0u);
  EXPECT_EQ(stats.reserved_bytes, 0u);
  EXPECT_EQ(stats.peak_bytes, 100u);
  EXPECT_EQ(stats.alloc_count, 1u);
  EXPECT_EQ(stats.pool_hit_count, 0u);
}

TEST(APooledAllocator, ServesASizeAgainFromItsPool) {
  const DLDevice device = fresh_device();
  auto &pooled = Allocator::of(device, OPD_ALLOCATOR_POOLED);
  void *first = pooled.allocate(5000);
  pooled.deallocate(first, 5000);
  EXPECT_EQ(memory_stats(device).reserved_bytes, 8192u);
  void *again = pooled.allocate(8000);  // the same two pages
  EXPECT_EQ(again, first);
  EXPECT_EQ(limited().allocations, 1);
  EXPECT_EQ(memory_stats(device).pool_hit_count, 1u);
  EXPECT_EQ(memory_stats(device).alloc_count, 2u);
  EXPECT_EQ(memory_stats(device).live_bytes, 8000u);
  pooled.deallocate(again, 8000);
  trim_memory(device);
  EXPECT_EQ(memory_stats(device).reserved_bytes, 0u);
}

TEST(APooledAllocator, DoesNotMixSizes) {
  auto &pooled = Allocator::of(fresh_device(), OPD_ALLOCATOR_POOLED);
  void *small = pooled.allocate(64), *large = pooled.allocate(4096);
  pooled.deallocate(small, 64);
  pooled.deallocate(large, 4096);
  void *middle = pooled.allocate(128);
  EXPECT_NE(middle, small);
  EXPECT_NE(middle, large);
  EXPECT_EQ(pooled.allocate(4096), large);
  pooled.deallocate(middle, 128);
  pooled.deallocate(large, 4096);
}

TEST(AnAllocator, EmptiesThePoolsBeforeItGivesUp) {
  const DLDevice device = fresh_device();
  auto &pooled = Allocator::of(device, OPD_ALLOCATOR_POOLED);
  limited().capacity = limited().held + 10 * 4096;
  pooled.deallocate(pooled.allocate(8 * 4096), 8 * 4096);
  void *data = pooled.allocate(6 * 4096);  // fits only once the idle block is gone
  EXPECT_NE(data, nullptr);
  EXPECT_EQ(memory_stats(device).reserved_bytes, 6u * 4096);
  pooled.deallocate(data, 6 * 4096);
}

TEST(AnAllocator, ReportsItsUseWhenMemoryRunsOut) {
  const DLDevice device = fresh_device();
  limited().capacity = limited().held + 2 * 4096;
  auto storage = Storage::make(device, OPD_ALLOCATOR_POOLED, 4096);
  for (const auto kind : {OPD_ALLOCATOR_POOLED, OPD_ALLOCATOR_NAIVE}) {
    try {
      Storage::make(device, kind, 9999);
      FAIL() << "no error";
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, OPD_OUT_OF_MEMORY);
      EXPECT_EQ(e.error()->message, concat("cannot get 9999 bytes on ext_dev:", device.device_id,
                                           ", where 4096 bytes are in use and 4096 are reserved"));
    }
  }
  limited().capacity = size_t{1} << 40;
}

TEST(AnAllocator, RefusesImpossibleSizes) {
  for (const DLDevice device : {fresh_device(), kHost})
    for (const auto kind : {OPD_ALLOCATOR_NAIVE, OPD_ALLOCATOR_POOLED})
      for (const size_t bytes :
           {SIZE_MAX, SIZE_MAX - 63, static_cast<size_t>(PTRDIFF_MAX), static_cast<size_t>(PTRDIFF_MAX) - 4095}) {
        const auto before = memory_stats(device);
        try {
          Allocator::of(device, kind).allocate(bytes);
          FAIL() << "no error for " << bytes;
        } catch (const Exception &e) { EXPECT_EQ(e.error()->code, OPD_OUT_OF_MEMORY); }
        EXPECT_EQ(memory_stats(device).alloc_count, before.alloc_count);
      }
}

TEST(AnAllocator, RefusesMoreThanTheProcessMayUse) {
  // An overcommitting kernel would grant it, and kill the process when it is written.
  EXPECT_THROW(Allocator::of(kHost, OPD_ALLOCATOR_NAIVE).allocate(usable_memory_bytes() + 4096), Exception);
}

// Sizes for which the limits are read.
TEST(AnAllocator, GivesLargeBlocksToTheHost) {
  constexpr size_t kLarge = (size_t{64} << 20) + 1;
  if (usable_memory_bytes() < 4 * kLarge) GTEST_SKIP() << "there is little memory";
  for (int i = 0; i < 2; ++i) EXPECT_NE(Storage::make(kHost, OPD_ALLOCATOR_NAIVE, kLarge)->data, nullptr);
}

TEST(AnAllocator, IsOnlyMadeForDevicesThatExist) {
  EXPECT_THROW(Allocator::of({kDLCPU, 64}, OPD_ALLOCATOR_NAIVE), Exception);
  EXPECT_THROW(Allocator::of({kDLVPI, 0}, OPD_ALLOCATOR_NAIVE), Exception);
  EXPECT_THROW(Allocator::of(kHost, static_cast<opd_allocator_kind>(3)), Exception);
  EXPECT_EQ(&Allocator::of(kHost, OPD_ALLOCATOR_POOLED), &Allocator::of(kHost, OPD_ALLOCATOR_POOLED));
}

TEST(AStorage, HoldsABlockAsLongAsItLives) {
  const DLDevice device = fresh_device();
  auto storage = Storage::make(device, OPD_ALLOCATOR_NAIVE, 256);
  Ref<Storage> other = storage;
  storage = nullptr;
  EXPECT_EQ(memory_stats(device).live_bytes, 256u);
  EXPECT_STREQ(type_key(other->type_index), "opdyno.Storage");
  other = nullptr;
  EXPECT_EQ(memory_stats(device).live_bytes, 0u);
}

TEST(TheStatistics, ResetThePeakOnRequest) {
  const DLDevice device = fresh_device();
  auto small = Storage::make(device, OPD_ALLOCATOR_NAIVE, 100);
  Storage::make(device, OPD_ALLOCATOR_NAIVE, 1000);
  EXPECT_EQ(memory_stats(device).peak_bytes, 1100u);
  reset_memory_peak(device);
  EXPECT_EQ(memory_stats(device).peak_bytes, 100u);
}

TEST(TheStatistics, HaveThePeaksOfOverlappingWindows) {
  const DLDevice device = fresh_device();
  const auto kept = Storage::make(device, OPD_ALLOCATOR_NAIVE, 5000);
  auto &memory = DeviceMemory::of(device);
  const auto use = [&](size_t bytes) { Storage::make(device, OPD_ALLOCATOR_NAIVE, bytes); };
  std::optional<DeviceMemory::PeakWindow> first, second, third;
  use(9000);
  first.emplace(memory);
  use(1000);
  second.emplace(memory);
  use(100);
  third.emplace(memory);
  EXPECT_EQ(first->close(), 1000u);
  EXPECT_EQ(second->close(), 100u) << "what ran before is not its own";
  use(300);
  EXPECT_EQ(memory_stats(device).peak_bytes, 14000u) << "the device's own";
  EXPECT_EQ(third->close(), 300u);
  EXPECT_EQ(memory_stats(device).peak_bytes, 14000u);
  reset_memory_peak(device);
  EXPECT_EQ(memory_stats(device).peak_bytes, 5000u);
}

TEST(TheStatistics, DoNotChangeAPeakWindowThatHasEnded) {
  const DLDevice device = fresh_device();
  auto &memory = DeviceMemory::of(device);
  alignas(DeviceMemory::PeakWindow) unsigned char place[sizeof(DeviceMemory::PeakWindow)];
  auto *const window = new (place) DeviceMemory::PeakWindow(memory);
  EXPECT_EQ(window->close(), 0u);
  EXPECT_EQ(window->close(), 0u);
  window->~PeakWindow();
  std::fill(std::begin(place), std::end(place), static_cast<unsigned char>(0));
  Storage::make(device, OPD_ALLOCATOR_NAIVE, 1000);
  reset_memory_peak(device);  // which tells the stretches that are open the peak so far
  EXPECT_TRUE(std::all_of(std::begin(place), std::end(place), [](unsigned char byte) { return byte == 0; }));
}

TEST(TheStatistics, CountMappedMemory) {
  const DLDevice device = fresh_device();
  auto &memory = DeviceMemory::of(device);
  char mapped[1];
  memory.count_mapping(mapped, 5000);
  opd_memory_stats stats = memory_stats(device);
  EXPECT_EQ(stats.live_bytes, 5000u);
  EXPECT_EQ(stats.reserved_bytes, 5000u);
  EXPECT_EQ(stats.peak_bytes, 5000u);
  EXPECT_EQ(stats.alloc_count, 1u);
  EXPECT_EQ(stats.pool_hit_count, 0u);
  memory.count_unmapping(mapped, 5000);
  stats = memory_stats(device);
  EXPECT_EQ(stats.live_bytes, 0u);
  EXPECT_EQ(stats.reserved_bytes, 0u);
  EXPECT_EQ(stats.peak_bytes, 5000u);
}

TEST(TheStatistics, AddUpOverThreads) {
  const DLDevice device = fresh_device();
  auto &pooled = Allocator::of(device, OPD_ALLOCATOR_POOLED);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const size_t bytes = 64 * static_cast<size_t>(1 + i % 7);
        void *a = pooled.allocate(bytes), *b = pooled.allocate(3 * 4096);
        EXPECT_NE(a, b);
        *static_cast<int *>(a) = i;
        pooled.deallocate(a, bytes);
        if (i % 100 == 0) trim_memory(device);
        pooled.deallocate(b, 3 * 4096);
      }
    });
  for (auto &thread : threads) thread.join();
  trim_memory(device);
  const auto stats = memory_stats(device);
  EXPECT_EQ(stats.live_bytes, 0u);
  EXPECT_EQ(stats.reserved_bytes, 0u);
  EXPECT_EQ(stats.alloc_count, 4u * 500 * 2);
  EXPECT_LE(stats.peak_bytes, 4u * (7 * 64 + 3 * 4096));
}

// ---- hooks

struct Arena {
  size_t held = 0;
  int ended = 0;
  uintptr_t shift = 0;

  static void *allocate(void *self, size_t size, size_t alignment) {
    static_cast<Arena *>(self)->held += size;
    return static_cast<char *>(std::aligned_alloc(alignment, 2 * size)) + static_cast<Arena *>(self)->shift;
  }
  static void deallocate(void *self, void *data, size_t size, size_t) {
    static_cast<Arena *>(self)->held -= size;
    std::free(static_cast<char *>(data) - static_cast<Arena *>(self)->shift);
  }
  static void end(void *self) { ++static_cast<Arena *>(self)->ended; }
  opd_memory_hooks hooks() { return {sizeof(opd_memory_hooks), 0, &allocate, &deallocate, this, &end}; }
};

TEST(MemoryHooks, GiveMemoryAndTakeTheSameBlocksBack) {
  Arena first, second;
  trim_memory(kHost);
  auto system = Storage::make(kHost, OPD_ALLOCATOR_POOLED, 64);
  auto hooks = first.hooks();
  set_memory_hooks(&hooks);
  auto naive = Storage::make(kHost, OPD_ALLOCATOR_NAIVE, 100);
  auto pooled = Storage::make(kHost, OPD_ALLOCATOR_POOLED, 5000);
  EXPECT_EQ(first.held, 128u + 8192u);
  system = nullptr;  // not from the hooks: must neither go to them nor stay in the pool
  EXPECT_EQ(first.held, 128u + 8192u);

  hooks = second.hooks();
  set_memory_hooks(&hooks);
  EXPECT_EQ(first.ended, 0);  // its blocks are still out
  naive = nullptr;
  EXPECT_EQ(first.ended, 0);
  pooled = nullptr;  // goes back at once, for a pool would hand it out as if it were of the second
  EXPECT_EQ(first.held, 0u);
  EXPECT_EQ(first.ended, 1);

  pooled = Storage::make(kHost, OPD_ALLOCATOR_POOLED, 5000);
  EXPECT_EQ(second.held, 8192u);
  pooled = nullptr;
  EXPECT_EQ(second.held, 8192u);  // in the pool
  set_memory_hooks(nullptr);
  EXPECT_EQ(second.held, 0u);
  EXPECT_EQ(second.ended, 1);
}

TEST(MemoryHooks, AreEndedAtOnceIfNoBlockIsInUse) {
  Arena arena;
  auto hooks = arena.hooks();
  set_memory_hooks(&hooks);
  set_memory_hooks(nullptr);
  EXPECT_EQ(arena.ended, 1);
}

TEST(MemoryHooks, AreNotTakenOverWithoutBothEntries) {
  Arena arena;
  auto hooks = arena.hooks();
  hooks.deallocate = nullptr;
  EXPECT_THROW(set_memory_hooks(&hooks), Exception);
  EXPECT_EQ(arena.ended, 0);
}

TEST(MemoryHooks, AreRefusedIfABlockIsNotAligned) {
  Arena arena;
  arena.shift = 8;
  auto hooks = arena.hooks();
  set_memory_hooks(&hooks);
  EXPECT_THROW(Storage::make(kHost, OPD_ALLOCATOR_NAIVE, 100), Exception);
  EXPECT_EQ(arena.held, 0u);  // the block went back
  set_memory_hooks(nullptr);
  EXPECT_EQ(arena.ended, 1);
}

}  // namespace
}  // namespace opd
