// Ranges and marks of the user on the calling thread, tasks of parallel loops, and the collector of an ITT tool. Cost:
// a load if nothing records them. ranges.cc also adds the events of memory_event.h and device_work.h.
#pragma once
#include <cstdint>
#include <string_view>

#include "trace/model/event.h"

namespace opd {

// begin_range() returns 0 if nothing records ranges, else the tick of the start, which the same thread passes to
// end_range(). A range belongs to the recordings that run at its start and at its end, or that end within it. A tool
// that listens to ranges counts as a recording here.
uint64_t begin_range_slowly(NameId name) noexcept;
inline uint64_t begin_range(NameId name) { return is_recording(Interest::kRanges) ? begin_range_slowly(name) : 0; }
void end_range(uint64_t begin) noexcept;
void add_mark(NameId name) noexcept;
// A stack of ranges. push_range() returns the new range's depth. pop_range() returns the depth of the range that it
// ends; -1: there is none. `name` is only read if something records.
int32_t push_range(std::string_view name) noexcept;
int32_t pop_range() noexcept;

// ---- tasks of parallel loops, on the threads that run them. Cost: a load for each loop if no recording asks for them,
// else about 100 ns a task.

// The facts that the tasks of one loop share.
struct ParallelLoop {
  uint64_t number;  // number in the process, from 1 on; 0: memory was short, so its tasks are not recorded
  uint64_t run;     // as in Event; 0: launched outside of recorded runs
  uint32_t thread;  // system id of the thread that launched it
  uint32_t num_tasks;
};
ParallelLoop begin_loop(uint32_t num_tasks) noexcept;  // called by the launching thread
uint64_t task_begin() noexcept;                        // ticks
// Adds an event of kTask to the calling thread's track, from the tick `begin` to now.
void add_task_event(const ParallelLoop &loop, uint32_t task, uint64_t begin) noexcept;

// ---- the collector of a tool, by the Instrumentation and Tracing Technology API. The variable INTEL_LIBITTNOTIFY64
// names the collector's library, which is loaded at the first range. Source: Intel's ITT API reference
// (intel.github.io/ittapi), and the two ways in which its static part finds a collector's functions.

constexpr uint32_t kIttRanges = 1u << kMostRecordings;  // bit among the recordings of ranges: ranges also go to a tool
inline bool goes_to_itt() { return recordings_of(Interest::kRanges).load(std::memory_order_relaxed) & kIttRanges; }

// Call these if goes_to_itt(). The calling thread's tasks end in reverse order, whichever range ends.
void begin_itt_task(NameId name) noexcept;
void end_itt_task() noexcept;
void add_itt_marker(NameId name) noexcept;
// Loads the collector and returns whether it takes tasks.
bool has_itt_collector() noexcept;

}  // namespace opd
