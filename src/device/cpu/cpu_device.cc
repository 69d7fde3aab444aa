// The host as a device, and the source of its memory: the system, or the embedder's hooks. Each block is returned to
// the source that allocated it.
// Cost: if no hooks were ever set, one relaxed load in addition to the system's allocator.
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "base/fork_mutex.h"
#include "base/log.h"
#include "device/backends.h"
#include "device/machine.h"
#include "device/memory/device_memory.h"

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

struct Hooks {  // referenced by the setting and by each block
  opd_memory_hooks table;
  explicit Hooks(const opd_memory_hooks &t) : table(t) {}
  ~Hooks() {
    if (table.deleter) table.deleter(table.user_data);
  }
};
using HooksRef = std::shared_ptr<const Hooks>;

struct Sources {
  // Read without the lock: it is set before a block of hooks can reach another thread.
  std::atomic<bool> hooked{false};  // true while hooks are set or blocks of hooks are in use
  ForkMutex guard{LockRank::kMemorySource};
  HooksRef present;
  std::unordered_map<const void *, HooksRef> owners;  // the hooks that allocated each block

  static Sources &get() {
    static auto *sources = new Sources;  // never destroyed: storages may end while the process exits
    return *sources;
  }
};

// Whether a request exceeds the memory that the process may use. If the kernel overcommits, it would grant the request,
// and kill the process when it writes to the memory.
bool is_absurd(size_t size) {
  if (size <= size_t{64} << 20) [[likely]]
    return false;  // a request this small is not checked
  static std::atomic<uint64_t> usable{0};
  if (size <= usable.load(std::memory_order_relaxed)) return false;
  usable.store(usable_memory_bytes(), std::memory_order_relaxed);  // limits may rise at run time
  return size > usable.load(std::memory_order_relaxed);
}

void *take_from_system(size_t size, size_t alignment) {
  return is_absurd(size) ? nullptr : std::aligned_alloc(alignment, round_up(size, alignment));
}

void *take_from_hooks(const HooksRef &hooks, size_t size, size_t alignment) {
  const opd_memory_hooks &table = hooks->table;
  void *data = table.allocate(table.user_data, size, alignment);
  if (!data) return nullptr;
  try {
    if (reinterpret_cast<uintptr_t>(data) % alignment == 0) {
      auto &sources = Sources::get();
      std::scoped_lock lock(sources.guard);
      sources.owners.insert_or_assign(data, hooks);
      sources.hooked.store(true, std::memory_order_relaxed);  // the hooks may have been replaced since they were read
      return data;
    }
    log_warning("a memory hook returned an address that is not the requested multiple of ", alignment,
                "; it is not used");
  } catch (...) {  // there is no memory for the entry
  }
  table.deallocate(table.user_data, data, size, alignment);
  return nullptr;
}

// All CPU devices share the same processors and memory, but each has its own allocators and statistics. TVM accepts any
// device number.
constexpr int32_t kCpuDevices = 64;

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
  void *allocate(int32_t, size_t size, size_t alignment) override {
    auto &sources = Sources::get();
    HooksRef hooks;
    if (sources.hooked.load(std::memory_order_relaxed)) [[unlikely]] {
      std::scoped_lock lock(sources.guard);
      hooks = sources.present;
    }
    return hooks ? take_from_hooks(hooks, size, alignment) : take_from_system(size, alignment);
  }
  void deallocate(int32_t, void *data, size_t size, size_t alignment) noexcept override {
    auto &sources = Sources::get();
    HooksRef hooks;
    if (sources.hooked.load(std::memory_order_relaxed)) [[unlikely]] {
      std::scoped_lock lock(sources.guard);
      if (const auto found = sources.owners.find(data); found != sources.owners.end()) {
        hooks = std::move(found->second);
        sources.owners.erase(found);
        if (!sources.present && sources.owners.empty()) sources.hooked.store(false, std::memory_order_relaxed);
      }
    }
    if (!hooks) return std::free(data);
    hooks->table.deallocate(hooks->table.user_data, data, size, alignment);
  }
  bool keeps(const void *data) noexcept override {
    auto &sources = Sources::get();
    if (!sources.hooked.load(std::memory_order_relaxed)) [[likely]]
      return true;
    std::scoped_lock lock(sources.guard);
    const auto found = sources.owners.find(data);
    return (found == sources.owners.end() ? nullptr : found->second) == sources.present;
  }
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

void set_memory_hooks(const opd_memory_hooks *hooks) {
  if (hooks) require(hooks->allocate && hooks->deallocate, "memory hooks must have both allocate and deallocate");
  HooksRef next;
  if (hooks) {
    auto made = std::make_shared<Hooks>(opd_memory_hooks{});  // if this throws, the deleter must not run
    made->table = *hooks;
    next = std::move(made);
  }
  auto &sources = Sources::get();
  {
    std::scoped_lock lock(sources.guard);
    sources.present.swap(next);
    if (sources.present) sources.hooked.store(true, std::memory_order_relaxed);
    else if (sources.owners.empty()) sources.hooked.store(false, std::memory_order_relaxed);
  }
  DeviceMemory::trim_all();  // idle blocks go back to the source that was replaced
}
}  // namespace opd
