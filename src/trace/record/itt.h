// Ranges and marks for the collector of a tool, by the Instrumentation and Tracing Technology API. The variable
// INTEL_LIBITTNOTIFY64 names the collector's library, which is loaded at the first range. Source: Intel's ITT API
// reference (intel.github.io/ittapi), and the two ways in which its static part finds a collector's functions.
#pragma once
#include "trace/model/event.h"
#include "trace/record/ranges.h"

namespace opd {

constexpr uint32_t kIttRanges = 1u << kMostRecordings;  // bit among the recordings of ranges: ranges also go to a tool
inline bool goes_to_itt() { return detail::ranging_recordings.load(std::memory_order_relaxed) & kIttRanges; }

// Call these if goes_to_itt(). The calling thread's tasks end in reverse order, whichever range ends.
void begin_itt_task(NameId name) noexcept;
void end_itt_task() noexcept;
void add_itt_marker(NameId name) noexcept;
// Loads the collector and returns whether it takes tasks.
bool has_itt_collector() noexcept;

}  // namespace opd
