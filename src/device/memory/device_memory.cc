#include "device/memory/device_memory.h"

#include <algorithm>
#include <climits>
#include <map>
#include <utility>

#include "base/fork_mutex.h"
#include "device/memory/pool.h"
#include "device/memory/workspace.h"

namespace opd {
namespace {

std::atomic<uint32_t> trims{0};

struct Table {
  ForkMutex guard{LockRank::kDevices};
  std::map<std::pair<int, int>, std::unique_ptr<DeviceMemory>> devices;
};

Table &known() {
  static auto *table = new Table;  // never destroyed: storages may end while the process exits
  return *table;
}

DeviceMemory &look_up(DLDevice device) {
  Table *const table = &known();
  const std::pair<int, int> key{device.device_type, device.device_id};
  {
    std::scoped_lock lock(table->guard);
    if (const auto found = table->devices.find(key); found != table->devices.end()) return *found->second;
  }
  auto made = std::make_unique<DeviceMemory>(device, device_backend(device));
  std::scoped_lock lock(table->guard);
  return *table->devices.emplace(key, std::move(made)).first->second;  // another thread may have been faster
}

}  // namespace

DeviceMemory &DeviceMemory::of(DLDevice device) {
  if (same(device, kHost)) [[likely]] {
    static DeviceMemory &host = look_up(kHost);
    return host;
  }
  return look_up(device);
}

// Made at load. If it were made on first use and another thread forked meanwhile, the child would wait forever for a
// thread that it does not have.
[[maybe_unused]] const DeviceMemory &host_at_load = DeviceMemory::of(kHost);

DeviceMemory::DeviceMemory(DLDevice device, DeviceBackend &backend)
    : device_(device),
      backend_(backend),
      is_asynchronous_(backend.is_asynchronous()),
      naive_(make_naive_allocator(*this)),
      pooled_(make_pooled_allocator(*this)) {}

template <class Allocate>
void *DeviceMemory::take_of(size_t size, const Allocate &allocate) {
  void *data = allocate();
  if (!data) [[unlikely]] {
    trim();
    data = allocate();
    if (!data) return nullptr;
  }
  reserved_.fetch_add(size, std::memory_order_relaxed);
  return data;
}

void *DeviceMemory::take(size_t size) {
  return take_of(size, [&] { return backend_.allocate(device_.device_id, size, kAlignment); });
}

void *DeviceMemory::take(const ImageShape &image) {
  return take_of(round_up(image.bytes(), kAlignment),
                 [&] { return backend_.allocate_image(device_.device_id, image); });
}

void DeviceMemory::give(void *data, size_t size) noexcept {
  if (is_asynchronous_ && keep_for_capture(data, size)) [[unlikely]]
    return;
  const CaptureGate::Visit visit(gate_);
  if (visit) return free(data, size);
  try {
    const std::scoped_lock lock(late_guard_);
    late_.push_back({this, data, size});
  } catch (const std::bad_alloc &) { free(data, size); }
  if (!gate_.is_closed()) give_late();  // the capture has ended meanwhile
}

bool DeviceMemory::keep_for_capture(void *data, size_t size) noexcept {
  return is_capturing(device_) && keep_for_graph({this, data, size});
}

void DeviceMemory::give_late() noexcept {
  std::vector<GivenBlock> blocks;
  {
    const std::scoped_lock lock(late_guard_);
    blocks.swap(late_);
  }
  for (const GivenBlock &block : blocks) give(block.data, block.size);
}

void DeviceMemory::free(void *data, size_t size) noexcept {
  backend_.deallocate(device_.device_id, data, size, kAlignment);
  reserved_.fetch_sub(size, std::memory_order_relaxed);
}

void DeviceMemory::change_stream(void *data, size_t size, void *stream) {
  try {
    wait_for_stream(device_, stream);
  } catch (const Exception &) {
    give(data, size);
    throw;
  }
}

void DeviceMemory::count_mapping(const void *data, size_t bytes) noexcept {
  reserved_.fetch_add(bytes, std::memory_order_relaxed);
  count_request(data, bytes, false, MemoryUse::kParameter);
}

void DeviceMemory::count_unmapping(const void *data, size_t bytes) noexcept {
  count_return(data, bytes, bytes);
  reserved_.fetch_sub(bytes, std::memory_order_relaxed);
}

void DeviceMemory::count_request(const void *data, size_t bytes, bool from_pool, MemoryUse use) noexcept {
  const uint64_t allocated = allocated_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  requests_.fetch_add(1, std::memory_order_relaxed);
  if (from_pool) hits_.fetch_add(1, std::memory_order_relaxed);
  raise_peak(Flow{allocated, freed_.load(std::memory_order_relaxed)}.live());
  if (is_recording_memory()) [[unlikely]]
    record(EventKind::kAlloc, data, bytes, 0, use);
}

void DeviceMemory::record(EventKind kind, const void *data, size_t bytes, size_t unreserved,
                          MemoryUse use) const noexcept {
  const uint64_t reserved = reserved_.load(std::memory_order_relaxed);
  add_memory_event(
      kind, device_,
      {reinterpret_cast<uintptr_t>(data), bytes, flow().live(), reserved - std::min(reserved, uint64_t{unreserved})},
      use);
}

void DeviceMemory::raise_peak(uint64_t live) noexcept {
  uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {}
}

// Starts a new peak. The old one still counts for the open windows.
void DeviceMemory::restart_peak() noexcept {
  const uint64_t peak = peak_.exchange(flow().live(), std::memory_order_relaxed);
  raise_peak(flow().live());  // includes allocations since the line above
  past_peak_.store(std::max(past_peak_.load(std::memory_order_relaxed), peak), std::memory_order_relaxed);
  for (PeakWindow *window : windows_) window->peak_ = std::max(window->peak_, peak);
}

void DeviceMemory::reset_peak() noexcept {
  std::scoped_lock lock(windows_guard_);
  restart_peak();
  past_peak_.store(0, std::memory_order_relaxed);
}

DeviceMemory::PeakWindow::PeakWindow(DeviceMemory &memory) : memory_(memory) {
  std::scoped_lock lock(memory.windows_guard_);
  memory.windows_.reserve(memory.windows_.size() + 1);
  memory.restart_peak();
  before_ = memory.flow().live();
  memory.windows_.push_back(this);
}

uint64_t DeviceMemory::PeakWindow::close() noexcept {
  if (!std::exchange(is_open_, false)) return 0;
  std::scoped_lock lock(memory_.windows_guard_);
  std::erase(memory_.windows_, this);
  const uint64_t peak = std::max(peak_, memory_.peak_.load(std::memory_order_relaxed));
  return peak > before_ ? peak - before_ : 0;
}

void DeviceMemory::fail_out_of_memory(size_t bytes) const {
  const opd_memory_stats now = stats();
  fail(OPD_OUT_OF_MEMORY, "cannot get ", bytes, " bytes on ", device_name(device_), ", where ", now.live_bytes,
       " bytes are in use and ", now.reserved_bytes, " are reserved");
}

opd_memory_stats DeviceMemory::stats() const noexcept {
  const auto read = [](const std::atomic<uint64_t> &number) { return number.load(std::memory_order_relaxed); };
  return {sizeof(opd_memory_stats),
          0,
          flow().live(),
          std::max(read(peak_), read(past_peak_)),
          read(reserved_),
          read(requests_),
          read(hits_),
          0};
}

void DeviceMemory::trim() noexcept {
  trims.fetch_add(1, std::memory_order_relaxed);
  naive_->trim();
  pooled_->trim();
  trim_workspace();
}

std::vector<std::pair<DLDevice, const DeviceMemory *>> DeviceMemory::all_used() {
  std::vector<std::pair<DLDevice, const DeviceMemory *>> used;
  std::scoped_lock lock(known().guard);
  for (const auto &[key, memory] : known().devices) used.emplace_back(memory->device_, memory.get());
  return used;
}

void DeviceMemory::trim_all() noexcept {
  // Trims one by one without the lock: trim() runs memory hooks, which may call of().
  for (std::pair<int, int> last{INT_MIN, INT_MIN};;) {
    DeviceMemory *next = nullptr;
    {
      std::scoped_lock lock(known().guard);
      const auto found = known().devices.upper_bound(last);
      if (found == known().devices.end()) return;
      last = found->first;
      next = found->second.get();
    }
    next->trim();
  }
}

uint32_t DeviceMemory::trim_count() noexcept { return trims.load(std::memory_order_relaxed); }

}  // namespace opd
