#include "module/image/call_hooks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/fork_mutex.h"

namespace opd {
namespace {

// The kernel behind a trampoline. It is complete before any slot points at the trampoline, so the trampoline reads it
// without a lock. However, the library's code reads the slot with a plain load, which does not order later reads.
// Processors other than x86 may read the entry earlier. So the reader has a fence of its own.
class Entry {
 public:
  void set(const HookedCall &call) {
    name_ = call.name;
    code_.store(call.code, std::memory_order_release);
  }
  HookedCall get() const {
    std::atomic_thread_fence(std::memory_order_acquire);
    const SafeCall code = code_.load(std::memory_order_acquire);  // first, because `name_` was written before it
    return {code, name_};
  }

 private:
  std::atomic<SafeCall> code_{nullptr};
  NameId name_ = kNoName;
};

// The kernels behind the trampolines of all libraries. `guard` protects the table and the hooks of every library.
struct Table {
  ForkMutex guard{LockRank::kCallHooks};
  std::array<Entry, kMostHookedKernels> calls;
  std::vector<size_t> free;
  Table() {
    for (size_t i = kMostHookedKernels; i-- > 0;) free.push_back(i);
  }
};
Table &table() {
  static auto *instance = new Table;  // never destroyed: threads may be in a call while the process exits
  return *instance;
}
// Made at load, because a destructor that uses it must not run out of memory.
[[maybe_unused]] const Table &table_made_at_load = table();

std::atomic<CallHook> call_hook{nullptr};

int show(size_t place, void *self, const View *args, int32_t num_args, View *result) {
  const HookedCall call = table().calls[place].get();
  const CallHook hook = call_hook.load(std::memory_order_relaxed);  // relaxed: it points at code only
  return hook ? hook(call, self, args, num_args, result) : call.code(self, args, num_args, result);
}

template <size_t kPlace>
int trampoline(void *self, const View *args, int32_t num_args, View *result) {
  return show(kPlace, self, args, num_args, result);
}
template <size_t... kPlaces>
constexpr std::array<SafeCall, sizeof...(kPlaces)> trampolines(std::index_sequence<kPlaces...>) {
  return {&trampoline<kPlaces>...};
}
constexpr auto kTrampolines = trampolines(std::make_index_sequence<kMostHookedKernels>());

// Makes the page of a slot writable during the object's life. The loader makes some pages read-only after it has filled
// their slots.
class WritablePage {
 public:
  // Returns false if the system forbids it.
  bool open(void **place) {
    const auto size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    void *page = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(place) & ~(size - 1));
    if (page == page_) return true;
    close();
    if (::mprotect(page, size, PROT_READ | PROT_WRITE)) return false;
    page_ = page, size_ = size;
    return true;
  }
  ~WritablePage() { close(); }

 private:
  void close() {
    if (page_) ::mprotect(page_, size_, PROT_READ);
    page_ = nullptr;
  }
  void *page_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

void set_call_hook(CallHook hook) { call_hook.store(hook, std::memory_order_relaxed); }

// Assigns a trampoline to each slot and saves the slot's kernel, before the slot is changed for the first time.
void CallHooks::acquire() {
  auto &free = table().free;
  places_.reserve(slots_.size());
  for (size_t i = places_.size(); i < slots_.size() && !free.empty(); ++i, free.pop_back()) {
    const auto code = reinterpret_cast<SafeCall>(__atomic_load_n(slots_[i].place, __ATOMIC_RELAXED));
    table().calls[free.back()].set({code, name_id(slots_[i].name)});
    places_.push_back(free.back());
  }
}

void CallHooks::write(bool hooked) noexcept {
  WritablePage page;
  num_shown_ = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (slots_[i].read_only && !page.open(slots_[i].place)) continue;
    const SafeCall target = hooked ? kTrampolines[places_[i]] : table().calls[places_[i]].get().code;
    // Release order: a thread that reaches the trampoline through the slot sees the table's entry.
    __atomic_store_n(slots_[i].place, reinterpret_cast<void *>(target), __ATOMIC_RELEASE);
    num_shown_ += hooked;
  }
}

void CallHooks::add() noexcept {
  std::scoped_lock lock(table().guard);
  if (num_users_++) return;
  try {
    acquire();
  } catch (const std::bad_alloc &) {}  // no memory: later slots get no trampolines
  write(true);
}

void CallHooks::remove() noexcept {
  std::scoped_lock lock(table().guard);
  if (--num_users_ == 0) write(false);
}

size_t CallHooks::num_hidden() const {
  std::scoped_lock lock(table().guard);
  return num_users_ ? slots_.size() - num_shown_ : 0;
}

CallHooks::~CallHooks() {
  std::scoped_lock lock(table().guard);
  for (const size_t place : places_) table().free.push_back(place);
}

}  // namespace opd
