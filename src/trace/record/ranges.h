// Ranges and marks of the user on the calling thread. Cost: a load if nothing records them.
#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

#include "trace/model/names.h"

namespace opd {

namespace detail {
extern std::atomic<uint32_t> ranging_recordings;  // a bit for each recording that records ranges, and kIttRanges
}

// begin_range() returns 0 if nothing records ranges, else the tick of the begin, which the same thread passes to
// end_range(). A range belongs to the recordings that run at its begin and at its end, or that end within it. A tool
// that listens to ranges counts as a recording here.
inline bool is_recording_ranges() { return detail::ranging_recordings.load(std::memory_order_relaxed) != 0; }
uint64_t begin_range_slowly(NameId name) noexcept;
inline uint64_t begin_range(NameId name) { return is_recording_ranges() ? begin_range_slowly(name) : 0; }
void end_range(uint64_t begin) noexcept;
void add_mark(NameId name) noexcept;
// A stack of ranges. push_range() returns the new range's depth. pop_range() returns the depth of the range that it
// ends; -1: there is none. `name` is only read if something records.
int32_t push_range(std::string_view name) noexcept;
int32_t pop_range() noexcept;

}  // namespace opd
