// A fence between a store and a later load, for two sides of which one passes often and the other rarely. The rare side
// makes every thread of the process pass a fence (membarrier(2), Linux 4.14), so the frequent side needs none.
#pragma once
#include <atomic>
#include <cstdint>

namespace opd {

// False: the system does not offer the call, and each side uses its own fence.
extern std::atomic<bool> fence_is_asymmetric;

// The frequent side: a store that no later load of the thread overtakes.
inline void store_before_loads(std::atomic<uint32_t> &place, uint32_t value) {
  if (fence_is_asymmetric.load(std::memory_order_relaxed)) [[likely]] {
    place.store(value, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    place.store(value, std::memory_order_seq_cst);
  }
}
// The rare side, between its stores and its loads: either it sees the stores of a thread, or the thread sees its
// stores. Cost: 7 µs with another thread at work.
void fence_all_threads() noexcept;

}  // namespace opd
