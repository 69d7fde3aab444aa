// Ranges and marks for the collector that a tool injects by the Instrumentation and Tracing Technology API: the
// variable INTEL_LIBITTNOTIFY64 names its library, which is loaded at the first range. Source: Intel's ITT API
// reference (intel.github.io/ittapi), and the two ways in which its static part finds a collector's functions.
#pragma once
#include "trace/model/event.h"
#include "trace/record/ranges.h"

namespace opd {

constexpr uint32_t kIttRanges = 1u << kMostRecordings;  // among the recordings of ranges: they also go to a tool
inline bool goes_to_itt() { return detail::ranging_recordings.load(std::memory_order_relaxed) & kIttRanges; }

// The calling thread's tasks end in reverse, whichever range ends. To be called if goes_to_itt().
void begin_itt_task(NameId name) noexcept;
void end_itt_task() noexcept;
void add_itt_marker(NameId name) noexcept;
// Whether there is a collector that takes tasks. Loads it.
bool has_itt_collector() noexcept;

}  // namespace opd
