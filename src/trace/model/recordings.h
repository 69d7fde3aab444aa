// Sets of the recordings that run in the process, with one bit for each. There is one set for each kind of event, so
// that code which could add such an event needs a single load to see that no recording wants it.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace opd {

using Recordings = uint16_t;
constexpr uint32_t kMostRecordings = 16;
constexpr uint32_t first_of(Recordings set) { return static_cast<uint32_t>(std::countr_zero(set)); }
constexpr Recordings without_first(Recordings set) { return static_cast<Recordings>(set & (set - 1)); }
template <class Visit>
void each_recording(Recordings set, const Visit &visit) {
  for (; set; set = without_first(set)) visit(first_of(set));
}

// A recording ends in this order.
enum class Interest : uint8_t {
  kRunning,      // all recordings
  kRanges,       // those that record ranges which begin now; also has kIttRanges (trace/record/ranges.h)
  kEndedRanges,  // those that record ranges which end now
  kFiledRanges,  // the subset of kEndedRanges that write to a file
  kMemory,
  kStacks,
  kTasks,
  kDeviceWork
};
inline constexpr size_t kNumInterests = 8;

// A set, with room for one bit that does not belong to a recording. Only Recording and the ITT collector change it.
inline std::atomic<uint32_t> &recordings_of(Interest interest) {
  static constinit std::atomic<uint32_t> sets[kNumInterests] = {};
  return sets[static_cast<size_t>(interest)];
}
inline bool is_recording(Interest interest = Interest::kRunning) {
  return recordings_of(interest).load(std::memory_order_relaxed) != 0;
}
// Acquires what the recordings stored before they set their bits.
inline Recordings read_recordings(Interest interest) {
  return static_cast<Recordings>(recordings_of(interest).load(std::memory_order_acquire));
}

}  // namespace opd
