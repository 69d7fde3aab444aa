#include "device/cpu/cpu_memory.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/fork_mutex.h"
#include "base/log.h"
#include "device/machine.h"
#include "device/memory/device_memory.h"

namespace opd {
namespace {

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
      sources.hooked.store(true, std::memory_order_relaxed);  // the hooks may have been replaced meanwhile
      return data;
    }
    log_warning("a memory hook was asked for a multiple of ", alignment,
                " and returned another address; it is not used");
  } catch (...) {  // there is no memory for the entry
  }
  table.deallocate(table.user_data, data, size, alignment);
  return nullptr;
}

}  // namespace

void *take_cpu_memory(size_t size, size_t alignment) {
  auto &sources = Sources::get();
  HooksRef hooks;
  if (sources.hooked.load(std::memory_order_relaxed)) [[unlikely]] {
    std::scoped_lock lock(sources.guard);
    hooks = sources.present;
  }
  return hooks ? take_from_hooks(hooks, size, alignment) : take_from_system(size, alignment);
}

void give_cpu_memory(void *data, size_t size, size_t alignment) noexcept {
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

bool is_from_present_source(const void *data) noexcept {
  auto &sources = Sources::get();
  if (!sources.hooked.load(std::memory_order_relaxed)) [[likely]]
    return true;
  std::scoped_lock lock(sources.guard);
  const auto found = sources.owners.find(data);
  return (found == sources.owners.end() ? nullptr : found->second) == sources.present;
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
