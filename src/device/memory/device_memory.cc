#include "device/memory/device_memory.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <unordered_map>
#include <utility>

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

// Images always use this allocator. They have shapes, and a list of free blocks of one size would not distinguish
// these.
class NaiveAllocator final : public Allocator {
 public:
  explicit NaiveAllocator(DeviceMemory &memory) : memory_(memory) {}

  void *allocate(size_t bytes, MemoryUse use) override {
    void *data = bytes <= kMaxBlock ? memory_.take(block_size(bytes)) : nullptr;
    if (!data) memory_.fail_out_of_memory(bytes);
    memory_.count_request(data, bytes, false, use);
    return data;
  }
  void deallocate(void *data, size_t bytes) noexcept override {
    // Called before give(): afterwards another thread may get the block, and its event must come after this one's.
    memory_.count_return(data, bytes, block_size(bytes));
    memory_.give(data, block_size(bytes));
  }
  void trim() noexcept override {}

 private:
  // A request of 0 bytes also gets a block, so that its address is unique.
  static size_t block_size(size_t bytes) { return bytes == 0 ? 64 : round_up(bytes, 64); }
  DeviceMemory &memory_;
};

// The destructor does not return the blocks, because the memory of a device lives as long as the process.
class PooledAllocator final : public Allocator {
 public:
  explicit PooledAllocator(DeviceMemory &memory) : memory_(memory) {}

  void *allocate(size_t bytes, MemoryUse use) override {
    if (bytes > kMaxBlock) memory_.fail_out_of_memory(bytes);
    const size_t size = pooled_size(bytes);
    void *data = pop(size);
    const bool hit = data != nullptr;
    if (!hit) {
      free_longest_kept(size);
      data = memory_.take(size);
    }
    if (!data) memory_.fail_out_of_memory(bytes);
    // Counts the requested bytes. Otherwise the bytes in use would include the pool's rounding.
    memory_.count_request(data, bytes, hit, use);
    return data;
  }

  void deallocate(void *data, size_t bytes) noexcept override {
    // Called before the block is in a list, where another thread can find it: the event of the return must come first.
    memory_.count_return(data, bytes);
    memory_.end_reads(data);  // called without the lock, because it may wait
    const size_t size = pooled_size(bytes);
    // If memory for the list is short, the block goes back to the device. Otherwise it would be lost.
    if (!push(data, size)) return memory_.give(data, size);
    free_longest_kept(0);
  }

  void trim() noexcept override {
    std::array<Blocks, kSmall> small;
    std::unordered_map<size_t, Blocks> large;
    {
      std::scoped_lock lock(guard_);
      small.swap(small_);
      large.swap(large_);
    }
    // Called without the lock, because the backend may be a plug-in or the embedder's hooks.
    for (size_t i = 0; i < kSmall; ++i) give_all(small[i].blocks, (i + 1) * 64);
    for (auto &[size, kept] : large) give_all(kept.blocks, size);
  }

 private:
  struct Block {
    void *data;
    void *stream;  // stream whose work may still use the block; null on devices whose work ends with its call
  };
  struct Blocks {
    std::vector<Block> blocks;
    uint64_t last_return = 0;  // number of the return that was the last to put a block into the list
  };
  static constexpr size_t kSmall = 4096 / 64;

  // If the device's memory would be full with `more` bytes, frees the blocks of the sizes that were not returned for the
  // longest time. Otherwise programs with ever new sizes would keep blocks of all of them.
  void free_longest_kept(size_t more) noexcept {
    while (memory_.is_full(more)) {
      const auto [blocks, size] = take_longest_kept();
      if (blocks.empty()) return;  // all memory is in use
      give_all(blocks, size);
    }
  }
  std::pair<std::vector<Block>, size_t> take_longest_kept() noexcept {
    std::scoped_lock lock(guard_);
    Blocks *oldest = nullptr;
    size_t size = 0;
    const auto look_at = [&](Blocks &each, size_t each_size) {
      if (each.blocks.empty() || (oldest && oldest->last_return <= each.last_return)) return;
      oldest = &each, size = each_size;
    };
    for (size_t i = 0; i < kSmall; ++i) look_at(small_[i], (i + 1) * 64);
    for (auto &[each_size, each] : large_) look_at(each, each_size);
    if (!oldest) return {};
    std::pair<std::vector<Block>, size_t> taken(std::move(oldest->blocks), size);
    if (size > 4096) large_.erase(size);
    else oldest->blocks.clear();
    return taken;
  }

  // The block is removed from the list before the wait, so no other thread gets it during the wait. If the wait fails,
  // enter_stream() returns the block to the device, so it is not lost.
  void *pop(size_t size) {
    const Block block = find(size);
    // Called without the lock, because it may wait for the work of another stream.
    if (block.data) memory_.enter_stream(block.data, size, block.stream);
    return block.data;
  }
  Block find(size_t size) {
    std::scoped_lock lock(guard_);
    std::vector<Block> *blocks = nullptr;
    // pooled_size() rounds sizes up to 4096 bytes to multiples of 64. Each of these has a list that is found without a
    // search.
    if (size <= 4096) {
      blocks = &small_[size / 64 - 1].blocks;
    } else if (const auto found = large_.find(size); found != large_.end()) {
      blocks = &found->second.blocks;
    }
    if (!blocks || blocks->empty()) return {};
    const Block block = blocks->back();  // the block returned last is most likely to be in a cache
    blocks->pop_back();
    return block;
  }

  bool push(void *data, size_t size) noexcept {
    try {
      std::scoped_lock lock(guard_);
      // Checked under the lock. set_memory_hooks() empties the pool afterwards, so no block of replaced hooks stays.
      if (!memory_.keeps(data)) return false;
      Blocks &kept = size <= 4096 ? small_[size / 64 - 1] : large_[size];
      kept.blocks.push_back({data, memory_.stream_here()});
      kept.last_return = ++num_returns_;
      return true;
    } catch (...) {
      return false;  // memory for the list is short
    }
  }

  void give_all(const std::vector<Block> &blocks, size_t size) noexcept {
    for (const Block &block : blocks) memory_.give(block.data, size);
  }

  DeviceMemory &memory_;
  ForkMutex guard_{LockRank::kPool};
  std::array<Blocks, kSmall> small_;
  std::unordered_map<size_t, Blocks> large_;
  uint64_t num_returns_ = 0;
};

}  // namespace

DeviceMemory &DeviceMemory::of(DLDevice device) {
  if (same(device, kHost)) [[likely]] {
    static DeviceMemory &host = look_up(kHost);
    return host;
  }
  return look_up(device);
}

// Made at load. If it were made on first use and another thread forked before it was complete, the child would wait
// forever for a thread that it does not have.
[[maybe_unused]] const DeviceMemory &host_at_load = DeviceMemory::of(kHost);

DeviceMemory::DeviceMemory(DLDevice device, DeviceBackend &backend)
    : device_(device),
      backend_(backend),
      is_asynchronous_(backend.is_asynchronous()),
      naive_(std::make_unique<NaiveAllocator>(*this)),
      pooled_(std::make_unique<PooledAllocator>(*this)) {}

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
  if (!gate_.is_closed()) give_late();  // the capture ended before the block was in the list
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
  if (is_recording(Interest::kMemory)) [[unlikely]]
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
  const uint64_t past = past_peak_.exchange(0, std::memory_order_relaxed);
  highest_.store(std::max(highest_.load(std::memory_order_relaxed), past), std::memory_order_relaxed);
}

bool DeviceMemory::is_full(uint64_t more) const noexcept {
  const auto read = [](const std::atomic<uint64_t> &number) { return number.load(std::memory_order_relaxed); };
  const uint64_t reserved = read(reserved_) + more, live = flow().live() + more;
  if (reserved <= live + kIdleFloor) [[likely]]
    return false;
  return reserved > std::max({read(peak_), read(past_peak_), read(highest_)});
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
#ifdef __GLIBC__
  // The C library keeps what it was given, too: blocks below its limit for pages of their own.
  if (same(device_, kHost) && is_from_system()) malloc_trim(0);
#endif
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
