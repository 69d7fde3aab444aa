#include "device/cpu/cpu_device.h"

#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "device/cpu/cpu_memory.h"
#include "device/machine.h"

namespace opd {
namespace {

// The value of "key : value" in the text of /proc/cpuinfo; "" if it is absent.
std::string_view cpuinfo_field(std::string_view text, std::string_view key) {
  for (size_t place = text.find(key); place != std::string_view::npos; place = text.find(key, place + 1)) {
    if (place != 0 && text[place - 1] != '\n') continue;
    std::string_view line = text.substr(place + key.size());
    line = line.substr(0, line.find('\n'));
    const size_t start = line.find_first_not_of("\t :");
    return start == std::string_view::npos ? std::string_view() : line.substr(start);
  }
  return {};
}

Value device_name_value() {
  const std::string text = read_system_file("/proc/cpuinfo");
  for (const char *key : {"model name", "Model", "cpu model", "Hardware"})  // x86 first, then other architectures
    if (const auto name = cpuinfo_field(text, key); !name.empty()) return Value(name);
  return {};
}

Value positive(int64_t number) { return number > 0 ? Value(number) : Value(); }

Value clock_rate_khz() {
  double number = 0;
  const std::string limit = read_system_file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (std::from_chars(limit.data(), limit.data() + limit.size(), number).ec == std::errc())
    return positive(static_cast<int64_t>(number));
  const std::string text = read_system_file("/proc/cpuinfo");  // without a governor, the clock rate is constant
  const auto mhz = cpuinfo_field(text, "cpu MHz");
  std::from_chars(mhz.data(), mhz.data() + mhz.size(), number);
  return positive(static_cast<int64_t>(number * 1000 + 0.5));
}

Value l2_cache_bytes() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) return Value(int64_t{bytes});
#endif
  const std::string text = read_system_file("/sys/devices/system/cpu/cpu0/cache/index2/size");  // "512K"
  int64_t kib = 0;
  std::from_chars(text.data(), text.data() + text.size(), kib);
  return positive(kib * 1024);
}

class CpuBackend final : public DeviceBackend {
 public:
  std::string absence(int32_t) override { return concat("the CPU has the numbers 0 to ", kCpuDevices - 1); }
  Value attr(int32_t id, opd_device_attr attr) override {
    switch (attr) {
      case OPD_ATTR_EXIST:
        return Value(id >= 0 && id < kCpuDevices);
      case OPD_ATTR_DEVICE_NAME:
        return device_name_value();
      case OPD_ATTR_MAX_CLOCK_RATE:
        return clock_rate_khz();
      case OPD_ATTR_MULTI_PROCESSOR_COUNT:
        return Value(allowed_processors());
      case OPD_ATTR_L2_CACHE_SIZE_BYTES:
        return l2_cache_bytes();
      case OPD_ATTR_TOTAL_GLOBAL_MEMORY:
        return Value(static_cast<int64_t>(usable_memory_bytes()));
      case OPD_ATTR_AVAILABLE_GLOBAL_MEMORY:
        return Value(static_cast<int64_t>(available_memory_bytes()));
      default:
        return {};
    }
  }
  void *allocate(int32_t, size_t bytes, size_t alignment) override { return take_cpu_memory(bytes, alignment); }
  void deallocate(int32_t, void *data, size_t bytes, size_t alignment) noexcept override {
    give_cpu_memory(data, bytes, alignment);
  }
  bool keeps(const void *data) noexcept override { return is_from_present_source(data); }
  void copy(const void *from, DLDevice, void *to, DLDevice, size_t bytes, void *) override {
    std::memmove(to, from, bytes);
  }
  void sync(int32_t) override {}
  std::string counters_absence(int32_t) override { return "the collectors perf and papi count on the CPU"; }
};

}  // namespace

DeviceBackend &cpu_backend() {
  static auto *backend = new CpuBackend;
  return *backend;
}

}  // namespace opd
