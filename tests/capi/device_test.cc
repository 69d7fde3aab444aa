// include/opdyno/device.h, through the C API.
#include <gtest/gtest.h>
#include <opdyno/opdyno.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "support/failure.h"

namespace {

using opdyno_test::Failure;
using opdyno_test::failure;

constexpr DLDevice kCpu = {kDLCPU, 0};
constexpr DLDevice kNoCpu = {kDLCPU, 64};

std::string take(opd_buffer *buffer) {
  std::string text(opd_buffer_data(buffer), opd_buffer_size(buffer));
  opd_buffer_release(buffer);
  return text;
}

opd_memory_stats stats() {
  opd_memory_stats out{};
  out.struct_size = sizeof out;
  EXPECT_OK(opd_memory_get_stats(kCpu, &out));
  return out;
}

TEST(ADevice, IsReadFromTextAndWrittenAgain) {
  const struct {
    const char *text;
    int type, id;
    const char *written;
  } cases[] = {{"cpu", kDLCPU, 0, "cpu:0"},
               {"cpu:0", kDLCPU, 0, "cpu:0"},
               {"cuda:1", kDLCUDA, 1, "cuda:1"},
               {"2:0", kDLCUDA, 0, "cuda:0"},
               {"opencl", kDLOpenCL, 0, "opencl:0"},
               {"99:3", 99, 3, "device99:3"},
               {"gpu:2", kDLCUDA, 2, "cuda:2"},
               {"cl", kDLOpenCL, 0, "opencl:0"},
               {"mtl", kDLMetal, 0, "metal:0"},
               {"llvm", kDLCPU, 0, "cpu:0"},
               {"c", kDLCPU, 0, "cpu:0"}};
  for (const auto &c : cases) {
    DLDevice device{};
    EXPECT_OK(opd_device_from_string(c.text, &device));
    EXPECT_EQ(device.device_type, c.type);
    EXPECT_EQ(device.device_id, c.id);
    opd_buffer *text = nullptr;
    EXPECT_OK(opd_device_to_string(device, &text));
    EXPECT_EQ(take(text), c.written);
  }
}

TEST(ADevice, IsNotReadFromOtherText) {
  for (const char *text : {"", "cpu:", "cpu:x", "gpus", "cuda:-1", ":0", "cpu:0:0", "0:0"}) {
    DLDevice device = {kDLVPI, 5};
    const Failure told = failure(opd_device_from_string(text, &device));
    EXPECT_EQ(told.code, OPD_INVALID_ARGUMENT) << text;
    EXPECT_NE(told.message.find("\"" + std::string(text) + "\""), std::string::npos);
    EXPECT_EQ(device.device_id, 5);  // untouched
  }
  EXPECT_EQ(failure(opd_device_from_string(nullptr, nullptr)).code, OPD_INVALID_ARGUMENT);
}

opd_value attr(opd_device_attr which) {
  opd_value value = opd_none();
  EXPECT_OK(opd_device_get_attr(kCpu, which, &value));
  return value;
}

TEST(TheCpu, ReportsItsProperties) {
  EXPECT_EQ(attr(OPD_ATTR_EXIST).type, OPD_BOOL);
  EXPECT_EQ(attr(OPD_ATTR_EXIST).u.int64, 1);
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_EQ(attr(OPD_ATTR_MULTI_PROCESSOR_COUNT).u.int64, CPU_COUNT(&allowed));
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const opd_value total = attr(OPD_ATTR_TOTAL_GLOBAL_MEMORY), available = attr(OPD_ATTR_AVAILABLE_GLOBAL_MEMORY);
  EXPECT_GT(total.u.int64, 0);
  EXPECT_LE(total.u.int64, memory);
  EXPECT_GT(available.u.int64, 0);
  EXPECT_LE(available.u.int64, total.u.int64);
  for (const auto which : {OPD_ATTR_MAX_CLOCK_RATE, OPD_ATTR_L2_CACHE_SIZE_BYTES}) {  // not every machine says
    const opd_value value = attr(which);
    EXPECT_TRUE(value.type == OPD_NONE || (value.type == OPD_INT && value.u.int64 > 0));
  }
  opd_value name = attr(OPD_ATTR_DEVICE_NAME);
  if (name.type != OPD_NONE) {
    const char *text = nullptr;
    size_t size = 0;
    EXPECT_OK(opd_string_get(&name, &text, &size));
    EXPECT_GT(size, 0u);
    EXPECT_EQ(std::string(text, size).find('\n'), std::string::npos);
  }
  opd_value_release(&name);
  EXPECT_EQ(attr(OPD_ATTR_WARP_SIZE).type, OPD_NONE);
  EXPECT_EQ(attr(static_cast<opd_device_attr>(77)).type, OPD_NONE);
  EXPECT_OK(opd_device_sync(kCpu));
}

// The text behind "name : " in the first such line of a file.
std::string line_of(const char *file, const std::string &name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (const size_t colon = line.find(':');
        colon != std::string::npos && line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) == name)
      return colon + 2 < line.size() ? line.substr(colon + 2) : "";
  return "";
}

TEST(TheCpu, HasTheNameAndTheClockThatLinuxReports) {
  if (const std::string expected = line_of("/proc/cpuinfo", "model name"); !expected.empty()) {
    opd_value name = attr(OPD_ATTR_DEVICE_NAME);
    const char *text = nullptr;
    size_t size = 0;
    EXPECT_OK(opd_string_get(&name, &text, &size));
    EXPECT_EQ(std::string(text, size), expected);
    opd_value_release(&name);
  }
  int64_t khz = 0;
  std::ifstream limit("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (limit >> khz) {
    EXPECT_EQ(attr(OPD_ATTR_MAX_CLOCK_RATE).u.int64, khz);
    return;
  }
  const std::string mhz = line_of("/proc/cpuinfo", "cpu MHz");
  if (mhz.empty()) return;
  const double expected = std::stod(mhz) * 1000;  // may change a little
  EXPECT_GT(static_cast<double>(attr(OPD_ATTR_MAX_CLOCK_RATE).u.int64), expected / 3);
  EXPECT_LT(static_cast<double>(attr(OPD_ATTR_MAX_CLOCK_RATE).u.int64), expected * 3);
}

TEST(AnAbsentDevice, OnlyAnswersThatItDoesNotExist) {
  for (const DLDevice device : {kNoCpu, DLDevice{kDLVPI, 0}, DLDevice{static_cast<DLDeviceType>(-1), 0},
                                DLDevice{static_cast<DLDeviceType>(1 << 20), -4}}) {
    opd_value value = opd_none();
    EXPECT_OK(opd_device_get_attr(device, OPD_ATTR_EXIST, &value));
    EXPECT_EQ(value.type, OPD_BOOL);
    EXPECT_EQ(value.u.int64, 0);
    EXPECT_EQ(failure(opd_device_get_attr(device, OPD_ATTR_WARP_SIZE, &value)).code, OPD_UNSUPPORTED);
    EXPECT_EQ(failure(opd_device_sync(device)).code, OPD_UNSUPPORTED);
    EXPECT_EQ(failure(opd_memory_trim(device)).code, OPD_UNSUPPORTED);
    opd_memory_stats none{};
    none.struct_size = sizeof none;
    EXPECT_EQ(failure(opd_memory_get_stats(device, &none)).code, OPD_UNSUPPORTED);
    EXPECT_EQ(failure(opd_memory_reset_peak(device)).code, OPD_UNSUPPORTED);
  }
  EXPECT_EQ(failure(opd_device_sync(kNoCpu)).message,
            "there is no device cpu:64: the CPU has the numbers 0 to 63; this process has cpu:0 to cpu:63, and has not "
            "started the drivers of cuda, cuda_host, opencl, vulkan");
}

TEST(MemoryStatistics, FollowTensors) {
  const opd_memory_stats before = stats();
  const int64_t dims[] = {10, 25};
  opd_tensor *tensor = nullptr;
  EXPECT_OK(opd_tensor_create(dims, 2, {kDLFloat, 32, 1}, kCpu, &tensor));
  const opd_memory_stats during = stats();
  EXPECT_EQ(during.live_bytes - before.live_bytes, 1000u);          // 10 * 25 * 4
  EXPECT_EQ(during.reserved_bytes - before.reserved_bytes, 1024u);  // a multiple of 64
  EXPECT_EQ(during.alloc_count - before.alloc_count, 1u);
  opd_tensor_release(tensor);
  EXPECT_EQ(stats().live_bytes, before.live_bytes);
  EXPECT_GE(stats().peak_bytes, before.live_bytes + 1000);
  EXPECT_OK(opd_memory_reset_peak(kCpu));
  EXPECT_EQ(stats().peak_bytes, stats().live_bytes);
  EXPECT_OK(opd_memory_trim(kCpu));
}

TEST(MemoryStatistics, AreCutToTheCallersStruct) {
  opd_memory_stats old;
  std::memset(&old, 0xAB, sizeof old);
  old.struct_size = 16;  // knew live_bytes only
  EXPECT_OK(opd_memory_get_stats(kCpu, &old));
  EXPECT_EQ(old.struct_size, 16u);
  EXPECT_EQ(old.reserved, 0u);
  EXPECT_EQ(old.peak_bytes, 0xABABABABABABABABu);
  old.struct_size = 0;
  EXPECT_EQ(failure(opd_memory_get_stats(kCpu, &old)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_memory_get_stats(kCpu, nullptr)).code, OPD_INVALID_ARGUMENT);
}

struct Arena {
  size_t held = 0;
  int ended = 0;
  bool empty = false;
};
void *arena_allocate(void *self, size_t size, size_t alignment) {
  auto *arena = static_cast<Arena *>(self);
  if (arena->empty) return nullptr;
  arena->held += size;
  return std::aligned_alloc(alignment, size);
}
void arena_deallocate(void *self, void *data, size_t size, size_t) {
  static_cast<Arena *>(self)->held -= size;
  std::free(data);
}
void arena_end(void *self) { ++static_cast<Arena *>(self)->ended; }

TEST(MemoryHooks, ServeTensorsAndEndAfterTheLastOne) {
  Arena arena;
  const opd_memory_hooks hooks = {sizeof(opd_memory_hooks), 0, arena_allocate, arena_deallocate, &arena, arena_end};
  EXPECT_OK(opd_memory_set_hooks(&hooks));
  const int64_t dims[] = {100};
  opd_tensor *tensor = nullptr, *none = nullptr;
  EXPECT_OK(opd_tensor_create(dims, 1, {kDLUInt, 8, 1}, kCpu, &tensor));
  EXPECT_EQ(arena.held, 128u);
  arena.empty = true;
  const Failure told = failure(opd_tensor_create(dims, 1, {kDLUInt, 8, 1}, kCpu, &none));
  EXPECT_EQ(told.code, OPD_OUT_OF_MEMORY);
  EXPECT_EQ(told.message.substr(0, 32), "cannot get 100 bytes on cpu:0, w");
  EXPECT_EQ(none, nullptr);
  EXPECT_OK(opd_memory_set_hooks(nullptr));
  EXPECT_EQ(arena.ended, 0);
  opd_tensor_release(tensor);
  EXPECT_EQ(arena.held, 0u);
  EXPECT_EQ(arena.ended, 1);
}

TEST(MemoryHooks, AreRefusedWhenIncompleteOrTooNew) {
  Arena arena;
  opd_memory_hooks hooks = {sizeof(opd_memory_hooks), 0, arena_allocate, nullptr, &arena, arena_end};
  EXPECT_EQ(failure(opd_memory_set_hooks(&hooks)).code, OPD_INVALID_ARGUMENT);
  hooks.deallocate = arena_deallocate;
  hooks.struct_size = 0;
  EXPECT_EQ(failure(opd_memory_set_hooks(&hooks)).code, OPD_INVALID_ARGUMENT);
  hooks.struct_size = 16;  // ends before deallocate
  EXPECT_EQ(failure(opd_memory_set_hooks(&hooks)).code, OPD_INVALID_ARGUMENT);
  struct {
    opd_memory_hooks hooks;
    uint64_t further;
  } newer = {hooks, 1};
  newer.hooks.struct_size = sizeof newer;
  EXPECT_EQ(failure(opd_memory_set_hooks(&newer.hooks)).code, OPD_UNSUPPORTED);
  EXPECT_EQ(arena.ended, 0);  // nothing was taken over
}

TEST(TheThreadCount, IsSetWithinItsRange) {
  const int32_t usual = opd_threads_count();
  EXPECT_GE(usual, 1);
  EXPECT_OK(opd_threads_set_count(3));
  EXPECT_EQ(opd_threads_count(), 3);
  for (const int32_t count : {-1, 1025}) EXPECT_EQ(failure(opd_threads_set_count(count)).code, OPD_OUT_OF_RANGE);
  EXPECT_EQ(opd_threads_count(), 3);
  EXPECT_OK(opd_threads_set_count(0));
  EXPECT_EQ(opd_threads_count(), usual);
}

}  // namespace
