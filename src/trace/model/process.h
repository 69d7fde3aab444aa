// The process that the tracks of a trace belong to, and its clocks.
#pragma once
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/loaded_objects.h"
#include "trace/model/event.h"

namespace opd {

struct TraceProcess {
  int64_t id = 0;    // the system's process id
  std::string name;  // name of its program
  std::string host;
  std::string label;  // in merged traces: distinct from the label of any other process; else ""
  // Processes with equal names share CLOCK_MONOTONIC: they run on one machine, in the same boot. "": unknown.
  std::string clock_name;
  ClockId clock = tick_clock();
  ClockCalibration line;        // calibration of `clock`, measured when the recording ended
  int64_t unix_offset_ns = 0;   // Unix time minus CLOCK_MONOTONIC: realtime_offset_ns()
  int64_t shift_ns = 0;         // shift that was added to its times when traces were merged
  int64_t clock_error_ns = -1;  // error bound of its Unix times; -1: unknown
  uint64_t recording = 0;       // distinct among recordings of all processes and files; 0: unknown
  Recordings recordings = 0;    // bit of the recording; items of an event with other bits belong to other recordings
  uint64_t sample_interval = 1;
  std::vector<LoadedObject> objects;  // with stacks: the objects that contain their addresses

  static TraceProcess of_this();  // this process, without the members of a recording
  const std::string &title() const { return label.empty() ? name : label; }
  int64_t unix_ns(uint64_t ticks) const;
};

std::string small_file(const char *path);  // the text of a file in /proc, up to 4 KiB; "" if it cannot be read

int64_t realtime_offset_ns();  // the current offset
inline int64_t unix_ns() { return static_cast<int64_t>(monotonic_ns()) + realtime_offset_ns(); }

}  // namespace opd
