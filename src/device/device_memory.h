// The memory of one device: blocks from its backend, the statistics, and the two allocators on top.
// Cost: four relaxed atomic operations a request, a mutex for the pool.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "base/fork_mutex.h"
#include "device/allocator.h"
#include "device/device.h"

namespace opd {

class DeviceMemory {
 public:
  static DeviceMemory &of(DLDevice device);  // throws OPD_UNSUPPORTED; lives as long as the process
  DeviceMemory(DLDevice device, DeviceBackend &backend);

  Allocator &allocator(opd_allocator_kind kind) { return *(kind == OPD_ALLOCATOR_POOLED ? pooled_ : naive_); }

  // A block from the backend; empties the pools and tries again before it gives up. `size` is a multiple of 64.
  void *take(size_t size);  // null without memory
  void give(void *data, size_t size) noexcept;
  // Whether a returned block may serve again: not if the hooks that it came from were replaced.
  bool keeps(const void *data) const noexcept { return backend_.keeps(data); }

  // Whether memory comes from the system, not from hooks that somebody set.
  bool is_from_system() const noexcept { return backend_.keeps(nullptr); }
  // Memory that tensors of this device use, but that its backend did not give.
  void count_mapping(size_t bytes) noexcept;
  void count_unmapping(size_t bytes) noexcept;

  void count_request(size_t bytes, bool from_pool) noexcept;
  void count_return(size_t bytes) noexcept { freed_.fetch_add(bytes, std::memory_order_relaxed); }
  [[noreturn]] void fail_out_of_memory(size_t bytes) const;

  opd_memory_stats stats() const noexcept;
  void reset_peak() noexcept;
  // For who measures a stretch of time: what went in and out so far.
  struct Flow {
    uint64_t allocated, freed;
    uint64_t live() const { return allocated > freed ? allocated - freed : 0; }  // the two are read one after the other
  };
  Flow flow() const noexcept {
    const uint64_t freed = freed_.load(std::memory_order_relaxed);
    return {allocated_.load(std::memory_order_relaxed), freed};
  }
  // The peak of a stretch of time, as far as it is above what was in use before. Stretches may overlap as they like.
  // Cost: a mutex at each end.
  class PeakWindow {
   public:
    explicit PeakWindow(DeviceMemory &memory);
    ~PeakWindow() { close(); }
    PeakWindow(const PeakWindow &) = delete;
    uint64_t close() noexcept;

   private:
    friend class DeviceMemory;
    DeviceMemory &memory_;
    uint64_t before_ = 0, peak_ = 0;  // until the window opened last
    bool is_open_ = true;
  };
  void trim() noexcept;
  static void trim_all() noexcept;  // of every device that had memory so far
  // Rises with every trim, on any device: threads then let go of idle scratch memory at their next use of it.
  static uint32_t trim_count() noexcept;

 private:
  void raise_peak(uint64_t live) noexcept;
  void restart_peak() noexcept;

  const DLDevice device_;
  DeviceBackend &backend_;
  alignas(64) std::atomic<uint64_t> allocated_{0};  // less what was freed: in use
  std::atomic<uint64_t> freed_{0}, reserved_{0}, requests_{0}, hits_{0};
  std::atomic<uint64_t> peak_{0}, past_peak_{0};  // since the last window opened, and before
  ForkMutex windows_guard_{LockRank::kPeakWindows};
  std::vector<PeakWindow *> windows_;
  std::unique_ptr<Allocator> naive_, pooled_;
};

// The greatest request that is passed on: what lies above cannot be a size, and rounding it up could wrap.
inline constexpr size_t kMaxBlock = static_cast<size_t>(PTRDIFF_MAX) - 4096;
inline size_t round_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace opd
