// What a recording recorded: the events of each thread, and the clock that their ticks belong to.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "trace/recording_session.h"

namespace opd {

struct TraceParts {
  std::vector<ThreadTrack> threads;
  ClockCalibration line;  // of the threads' buffers, measured when recording ended
  int64_t process_id = 0;
  std::string process_name;
  int64_t unix_offset_ns = 0;                                 // Unix time less CLOCK_MONOTONIC: realtime_offset_ns()
  std::vector<std::pair<std::string, std::string>> metadata;  // in order
};

// Immutable.
struct Trace : Object {
  static int32_t type();  // "opdyno.Trace"
  const TraceParts parts;

  explicit Trace(TraceParts p) : parts(std::move(p)) {}
  size_t num_calls() const;
  uint64_t num_dropped() const;

  static Ref<Trace> of_lanes(std::vector<ThreadTrack> lanes, ClockCalibration line);  // of this process
};

int64_t realtime_offset_ns();

}  // namespace opd
