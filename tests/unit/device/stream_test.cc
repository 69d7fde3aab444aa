// Streams of a device that has them.
#include <gtest/gtest.h>
#include <opdyno/device.h>

#include <cstdlib>
#include <set>
#include <thread>

#include "device/device.h"

namespace opd {
namespace {

// Host memory behind a device number; its streams are numbers, too.
struct QueuedDevice final : DeviceBackend, DeviceStreams {
  std::set<void *> alive;
  std::vector<void *> waited;

  Value attr(int32_t id, opd_device_attr attr) override { return attr == OPD_ATTR_EXIST ? Value(id == 0) : Value(); }
  void *allocate(int32_t, size_t bytes, size_t alignment) override { return std::aligned_alloc(alignment, bytes); }
  void deallocate(int32_t, void *data, size_t, size_t) noexcept override { std::free(data); }
  void copy(const void *, DLDevice, void *, DLDevice, size_t) override {}
  void sync(int32_t) override { waited.push_back(nullptr); }
  DeviceStreams *streams() override { return this; }
  void *create(int32_t) override { return *alive.insert(reinterpret_cast<void *>(0x10 + alive.size())).first; }
  void release(int32_t, void *stream) override { alive.erase(stream); }
  void sync(int32_t, void *stream) override { waited.push_back(stream); }
};

constexpr DLDevice kQueued = {kDLVPI, 0};
QueuedDevice &queued() {
  static QueuedDevice *const device = [] {
    auto *made = new QueuedDevice;
    register_device(kDLVPI, *made);
    return made;
  }();
  return *device;
}

TEST(AStream, LivesUntilItIsReleasedAndIsWaitedFor) {
  QueuedDevice &device = queued();
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(opd_raw_stream_create(kQueued, &first), nullptr);
  ASSERT_EQ(opd_raw_stream_create(kQueued, &second), nullptr);
  EXPECT_EQ(device.alive, (std::set<void *>{first, second}));
  EXPECT_EQ(opd_raw_stream_sync(kQueued, second), nullptr);
  EXPECT_EQ(opd_raw_stream_sync(kQueued, nullptr), nullptr);
  EXPECT_EQ(device.waited, (std::vector<void *>{second, nullptr}));
  EXPECT_EQ(opd_raw_stream_release(kQueued, first), nullptr);
  EXPECT_EQ(opd_raw_stream_release(kQueued, nullptr), nullptr);
  EXPECT_EQ(device.alive, std::set<void *>{second});
  EXPECT_EQ(opd_raw_stream_release(kQueued, second), nullptr);
}

TEST(TheCurrentStream, IsEachThreadsOwn) {
  queued();
  int place;
  ASSERT_EQ(opd_raw_stream_set(kQueued, &place), nullptr);
  EXPECT_EQ(opd_raw_stream_get(kQueued), &place);
  std::thread([] { EXPECT_EQ(opd_raw_stream_get(kQueued), nullptr); }).join();
  ASSERT_EQ(opd_raw_stream_set(kQueued, nullptr), nullptr);
  EXPECT_EQ(opd_raw_stream_get(kQueued), nullptr);
}

}  // namespace
}  // namespace opd
