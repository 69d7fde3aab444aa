// A fence between a store and a later load, for a side that passes it often and a side that passes it rarely. The rare
// side makes every thread of the process pass a fence (membarrier(2), Linux 4.14), so the frequent side needs none.
#pragma once
#include <atomic>
#include <cstdint>

namespace opd {

// If false, the system does not have the call, and each side uses its own fence.
extern std::atomic<bool> fence_is_asymmetric;

// Stores `value`. No later load of the thread overtakes the store. The frequent side calls this.
inline void store_before_loads(std::atomic<uint32_t> &place, uint32_t value) {
  if (fence_is_asymmetric.load(std::memory_order_relaxed)) [[likely]] {
    place.store(value, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    place.store(value, std::memory_order_seq_cst);
  }
}
// The rare side calls this between its stores and its loads. Afterwards, either this thread sees another thread's
// stores, or that thread sees this one's. Cost: 7 µs while another thread works.
void fence_all_threads() noexcept;

}  // namespace opd
