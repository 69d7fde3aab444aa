// The process that the tracks of a trace are of, and its clocks.
#pragma once
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/loaded_objects.h"
#include "trace/model/event.h"

namespace opd {

struct TraceProcess {
  int64_t id = 0;    // the system's number
  std::string name;  // of its program
  std::string host;
  std::string label;  // of a merged trace: unlike that of any other process in it; else ""
  // Processes of equal names share CLOCK_MONOTONIC: they run on one machine since one start of it; "": not known.
  std::string clock_name;
  ClockId clock = tick_clock();
  ClockCalibration line;        // of that clock, measured when recording ended
  int64_t unix_offset_ns = 0;   // Unix time less CLOCK_MONOTONIC: realtime_offset_ns()
  int64_t shift_ns = 0;         // what was added to its times when traces were merged
  int64_t clock_error_ns = -1;  // how far its Unix times may be wrong; -1: not known
  uint64_t recording = 0;       // differs between recordings of all processes and files; 0: not known
  Recordings recordings = 0;    // bit of the recording: other ones' items of an event are not its own
  uint64_t sample_interval = 1;
  std::vector<LoadedObject> objects;  // with stacks: the objects of their addresses

  static TraceProcess of_this();  // without the members of a recording
  const std::string &title() const { return label.empty() ? name : label; }
  int64_t unix_ns(uint64_t ticks) const;
};

int64_t realtime_offset_ns();  // of now
inline int64_t unix_ns() { return static_cast<int64_t>(monotonic_ns()) + realtime_offset_ns(); }

}  // namespace opd
