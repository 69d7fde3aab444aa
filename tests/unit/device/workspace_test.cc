// Scratch memory of kernels.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/machine.h"
#include "device/memory/allocator.h"
#include "trace/record/memory_event.h"
#include "trace/record/recording.h"

namespace opd {
namespace {

constexpr DLDevice kAbsent = {kDLCUDA, 7};

TEST(AWorkspace, GivesAlignedMemoryThatIsCountedAsLive) {
  const auto before = memory_stats(kHost);
  void *data = allocate_workspace(kHost, 10'000);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
  std::memset(data, 1, 10'000);
  EXPECT_EQ(memory_stats(kHost).live_bytes - before.live_bytes, 10'000u);
  EXPECT_TRUE(free_workspace_block(kHost, data));
  EXPECT_EQ(memory_stats(kHost).live_bytes, before.live_bytes);
}

TEST(AWorkspace, IsMarkedInRecordingsOfMemory) {
  RecordingOptions options;
  options.memory = true;
  const Ref<Recording> recording = Recording::start(options);
  void *data = allocate_workspace(kHost, 10'000);
  EXPECT_TRUE(free_workspace_block(kHost, data));
  const Ref<Trace> trace = recording->stop();
  ASSERT_EQ(trace->parts.tracks.size(), 1u);
  const auto &events = trace->parts.tracks[0].memory;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]->name, memory_use_name(MemoryUse::kWorkspace));
  for (const Event *event : events) EXPECT_EQ(memory_change(*event).address, reinterpret_cast<uintptr_t>(data));
  EXPECT_EQ(signed_bytes(*events[0]), 10'000);
  EXPECT_EQ(signed_bytes(*events[1]), -10'000);
}

TEST(AWorkspace, ReusesFreedBlocks) {
  void *a = allocate_workspace(kHost, 5000), *b = allocate_workspace(kHost, 20'000);
  EXPECT_TRUE(free_workspace_block(kHost, b));
  EXPECT_TRUE(free_workspace_block(kHost, a));
  const auto before = memory_stats(kHost);
  EXPECT_EQ(allocate_workspace(kHost, 6000), a);  // the smallest that fits
  EXPECT_EQ(allocate_workspace(kHost, 6000), b);
  EXPECT_EQ(memory_stats(kHost).pool_hit_count - before.pool_hit_count, 2u);
  EXPECT_TRUE(free_workspace_block(kHost, a));  // in any order
  EXPECT_TRUE(free_workspace_block(kHost, b));
}

// In whatever order they came back.
TEST(AWorkspace, TakesTheSmallestBlockThatIsLargeEnough) {
  for (const bool small_first : {true, false})
    std::thread([&] {  // with a workspace of its own
      void *small = allocate_workspace(kHost, 5000), *large = allocate_workspace(kHost, 20'000);
      EXPECT_TRUE(free_workspace_block(kHost, small_first ? small : large));
      EXPECT_TRUE(free_workspace_block(kHost, small_first ? large : small));
      EXPECT_EQ(allocate_workspace(kHost, 8192), small) << "to the byte";
      EXPECT_EQ(allocate_workspace(kHost, 6000), large);
      EXPECT_TRUE(free_workspace_block(kHost, small));
      EXPECT_EQ(allocate_workspace(kHost, 4097), small);
    })
        .join();
}

TEST(AWorkspace, FreesTheLargestBlockIfNoneIsLargeEnough) {
  for (const bool small_first : {true, false})
    std::thread([&] {
      void *small = allocate_workspace(kHost, 8192), *large = allocate_workspace(kHost, 20'480);
      EXPECT_TRUE(free_workspace_block(kHost, small_first ? small : large));
      EXPECT_TRUE(free_workspace_block(kHost, small_first ? large : small));
      const auto before = memory_stats(kHost).reserved_bytes;
      void *larger = allocate_workspace(kHost, 40'960);
      EXPECT_EQ(memory_stats(kHost).reserved_bytes, before - 20'480 + 40'960);
      EXPECT_EQ(allocate_workspace(kHost, 8192), small);
      EXPECT_TRUE(free_workspace_block(kHost, larger));
    }).join();
}

// A device of the host's memory whose streams are numbers.
struct Streams final : DeviceBackend {
  std::vector<void *> synced;
  char streams[2];

  Value attr(int32_t id, opd_device_attr attr) override { return attr == OPD_ATTR_EXIST ? Value(id == 0) : Value(); }
  void *allocate(int32_t, size_t bytes, size_t alignment) override { return std::aligned_alloc(alignment, bytes); }
  void deallocate(int32_t, void *data, size_t, size_t) noexcept override { std::free(data); }
  void copy(const void *, DLDevice, void *, DLDevice, size_t, void *) override {}
  void sync(int32_t) override {}
  bool is_asynchronous() const override { return true; }
  void sync_stream(int32_t, void *stream) override { synced.push_back(stream); }
  void *create_stream(int32_t) override { return &streams[made++]; }
  size_t made = 0;
};

TEST(AWorkspace, WaitsForTheStreamThatUsedItsMemory) {
  static auto *const device = new Streams;
  register_device(kDLMAIA, *device);
  constexpr DLDevice kThere = {kDLMAIA, 0};
  void *const first = make_stream(kThere), *const second = make_stream(kThere);
  const auto use_in = [&](void *stream) {
    void *const before = set_current_stream(kThere, stream);
    void *const data = allocate_workspace(kThere, 5000);
    EXPECT_TRUE(free_workspace_block(kThere, data));
    set_current_stream(kThere, before);
    return std::exchange(device->synced, {});
  };
  using Synced = std::vector<void *>;
  EXPECT_EQ(use_in(first), Synced()) << "new memory";
  EXPECT_EQ(use_in(first), Synced()) << "its work is in order";
  EXPECT_EQ(use_in(second), Synced{first});
  EXPECT_EQ(use_in(nullptr), Synced{second});
  EXPECT_EQ(use_in(second), Synced{nullptr});
}

TEST(AWorkspace, KeepsOneBlockForRequestsThatGrow) {
  trim_memory(kHost);
  const auto before = memory_stats(kHost).reserved_bytes;
  for (size_t pages = 1; pages <= 50; ++pages) {
    void *data = allocate_workspace(kHost, pages * 4096);
    EXPECT_TRUE(free_workspace_block(kHost, data));
  }
  EXPECT_EQ(memory_stats(kHost).reserved_bytes - before, 50u * 4096);
}

TEST(AWorkspace, RefusesForeignPointers) {
  int local = 0;
  EXPECT_FALSE(free_workspace_block(kHost, &local));
  EXPECT_FALSE(free_workspace_block(kHost, nullptr));
  void *data = allocate_workspace(kHost, 1);
  EXPECT_FALSE(free_workspace_block(kAbsent, data));
  std::thread([&] { EXPECT_FALSE(free_workspace_block(kHost, data)); }).join();
  EXPECT_TRUE(free_workspace_block(kHost, data));
  EXPECT_FALSE(free_workspace_block(kHost, data));  // twice
}

TEST(AWorkspace, ReturnsNullWithoutMemoryOrDevice) {
  EXPECT_EQ(allocate_workspace(kHost, SIZE_MAX), nullptr);
  EXPECT_EQ(allocate_workspace(kHost, usable_memory_bytes() + 4096), nullptr);
  EXPECT_EQ(allocate_workspace(kAbsent, 64), nullptr);
}

TEST(AWorkspace, EndsWithItsThread) {
  trim_memory(kHost);
  const auto before = memory_stats(kHost);
  std::thread([&] {
    void *returned = allocate_workspace(kHost, 30'000);
    allocate_workspace(kHost, 70'000);  // as a kernel that fails leaves it
    EXPECT_TRUE(free_workspace_block(kHost, returned));
    EXPECT_GT(memory_stats(kHost).reserved_bytes, before.reserved_bytes);
  }).join();
  EXPECT_EQ(memory_stats(kHost).reserved_bytes, before.reserved_bytes);
  EXPECT_EQ(memory_stats(kHost).live_bytes, before.live_bytes);
}

TEST(AWorkspace, FreesIdleBlocksAfterATrim) {
  trim_memory(kHost);
  const auto before = memory_stats(kHost).reserved_bytes;
  void *kept = allocate_workspace(kHost, 4096), *idle = allocate_workspace(kHost, 4096);
  EXPECT_TRUE(free_workspace_block(kHost, idle));
  trim_memory(kHost);
  EXPECT_EQ(memory_stats(kHost).reserved_bytes - before, 4096u);
  EXPECT_TRUE(free_workspace_block(kHost, kept));
  std::thread([] { trim_memory(kHost); }).join();  // another thread's trim is seen at the next use
  EXPECT_FALSE(free_workspace_block(kHost, kept));
  EXPECT_EQ(memory_stats(kHost).reserved_bytes, before);
}

}  // namespace
}  // namespace opd
