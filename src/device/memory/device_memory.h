// The memory of one device: blocks from its backend, the statistics, and the two allocators that use them.
// Cost: each request takes four relaxed atomic operations, and the pool takes a mutex. While a recording observes
// memory, an event is added.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <vector>

#include "base/fork_mutex.h"
#include "device/device.h"
#include "device/graph.h"
#include "device/memory/allocator.h"
#include "trace/record/memory_event.h"

namespace opd {

class DeviceMemory {
 public:
  static DeviceMemory &of(DLDevice device);  // throws OPD_UNSUPPORTED; lives as long as the process
  DeviceMemory(DLDevice device, DeviceBackend &backend);

  Allocator &allocator(opd_allocator_kind kind) { return *(kind == OPD_ALLOCATOR_POOLED ? pooled_ : naive_); }

  // Allocates a block from the backend. If there is no memory, empties the pools and tries again. `size` is a multiple
  // of 64.
  void *take(size_t size);                      // null if there is no memory
  void *take(const ImageShape &image);          // the same; throws if the device cannot have it
  void give(void *data, size_t size) noexcept;  // if the calling thread captures a graph, the graph gets the block
  void end_reads(const void *data) noexcept { backend_.end_reads(data); }  // call it before a returned block is reused
  // Whether a returned block may be reused. False if it came from hooks that were replaced.
  bool keeps(const void *data) const noexcept {
    if (is_asynchronous_ && is_capturing(device_)) [[unlikely]]
      return false;  // the graph will use it
    return backend_.keeps(data);
  }

  // Guards waits for the whole device against captures: each waits until the other has ended.
  CaptureGate &gate() { return gate_; }
  void give_late() noexcept;  // returns blocks that were given while a graph of the device was captured

  // The stream whose work may use a block that the calling thread returns. Null if work ends with its call.
  void *stream_here() const noexcept { return is_asynchronous_ ? current_stream(device_) : nullptr; }
  // Prepares a kept block for the calling thread's stream. If the block was returned in another stream, waits for that
  // stream's work. If the device reports a failure of that work, the block goes back to the backend.
  void enter_stream(void *data, size_t size, void *stream) {
    if (is_asynchronous_ && stream != current_stream(device_)) [[unlikely]]
      change_stream(data, size, stream);
  }

  // Returns false if memory comes from the embedder's hooks.
  bool is_from_system() const noexcept { return backend_.keeps(nullptr); }
  // Number of reserved bytes above which the pool frees blocks before `more` bytes are added. The pool may keep what was
  // once in use, and at least kIdleFloor.
  static constexpr uint64_t kIdleFloor = 8 << 20;
  bool is_full(uint64_t more) const noexcept;
  // Counts constants that tensors of this device use but that its backend did not allocate.
  void count_mapping(const void *data, size_t bytes) noexcept;
  void count_unmapping(const void *data, size_t bytes) noexcept;

  void count_request(const void *data, size_t bytes, bool from_pool, MemoryUse use = MemoryUse::kTensor) noexcept;
  // Call it before another thread can get the block. `unreserved`: number of bytes that will go back to the backend.
  void count_return(const void *data, size_t bytes, size_t unreserved = 0) noexcept {
    freed_.fetch_add(bytes, std::memory_order_relaxed);
    if (is_recording(Interest::kMemory)) [[unlikely]]
      record(EventKind::kFree, data, bytes, unreserved);
  }
  // Records that the block at `data` gets new contents. PyTorch's memory timeline calls this a version. Call it only if
  // is_recording(Interest::kMemory). `bytes`: size of the block; 0 if the block may not belong to the library.
  void record_version(const void *data, size_t bytes, MemoryUse use) const noexcept {
    record(EventKind::kBind, data, bytes, 0, use);
  }
  [[noreturn]] void fail_out_of_memory(size_t bytes) const;

  opd_memory_stats stats() const noexcept;
  void reset_peak() noexcept;
  // Bytes allocated and freed so far, to measure an interval.
  struct Flow {
    uint64_t allocated, freed;
    uint64_t live() const { return allocated > freed ? allocated - freed : 0; }  // read one after the other
  };
  Flow flow() const noexcept {
    const uint64_t freed = freed_.load(std::memory_order_relaxed);
    return {allocated_.load(std::memory_order_relaxed), freed};
  }
  // The peak memory of an interval, relative to the memory in use at its start. Intervals may overlap in any way.
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
    uint64_t before_ = 0, peak_ = 0;  // `peak_`: the peak until the newest window was opened
    bool is_open_ = true;
  };
  void trim() noexcept;
  static void trim_all() noexcept;  // trims every device that was used so far
  // Devices that were used so far. Their memory lives as long as the process.
  static std::vector<std::pair<DLDevice, const DeviceMemory *>> all_used();
  // Number of trims, on all devices. If it has risen, each thread frees its idle scratch memory at its next use.
  static uint32_t trim_count() noexcept;

 private:
  template <class Allocate>
  void *take_of(size_t size, const Allocate &allocate);
  void change_stream(void *data, size_t size, void *stream);
  bool keep_for_capture(void *data, size_t size) noexcept;
  void free(void *data, size_t size) noexcept;
  void record(EventKind kind, const void *data, size_t bytes, size_t unreserved,
              MemoryUse use = MemoryUse::kTensor) const noexcept;
  void raise_peak(uint64_t live) noexcept;
  void restart_peak() noexcept;

  const DLDevice device_;
  DeviceBackend &backend_;
  const bool is_asynchronous_;
  alignas(64) std::atomic<uint64_t> allocated_{0};  // allocated_ - freed_ is in use
  std::atomic<uint64_t> freed_{0}, reserved_{0}, requests_{0}, hits_{0};
  std::atomic<uint64_t> peak_{0}, past_peak_{0};  // peak since the newest window was opened, and before that
  std::atomic<uint64_t> highest_{0};              // peak before that, which reset_peak() does not reset
  ForkMutex windows_guard_{LockRank::kPeakWindows};
  std::vector<PeakWindow *> windows_;
  std::unique_ptr<Allocator> naive_, pooled_;  // one returns blocks at once; the other keeps them in lists by size
  CaptureGate gate_;
  ForkMutex late_guard_{LockRank::kPeakWindows};
  std::vector<GivenBlock> late_;
};

// Requests above this size are not passed on. No object is larger, and rounding a larger size up could overflow.
inline constexpr size_t kMaxBlock = static_cast<size_t>(PTRDIFF_MAX) - 4096;
inline size_t round_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }
// The size of the pool's block for `bytes`. Programs use few distinct large sizes, so these are rounded up to pages.
// Small sizes are rounded up to 64 bytes: whole pages would waste most of the memory and the cache.
inline size_t pooled_size(size_t bytes) { return bytes == 0 ? 64 : round_up(bytes, bytes <= 4096 ? 64 : 4096); }
// The size of a storage for `bytes`, a number that a program computes anew for each call. There are at most eight sizes
// for each power of two, so storages of one call serve the next one, and at most an eighth of a storage is unused.
inline size_t varying_size(size_t bytes) {
  return bytes > kMaxBlock ? bytes : round_up(pooled_size(bytes), std::max<size_t>(std::bit_floor(bytes) / 8, 64));
}

}  // namespace opd
