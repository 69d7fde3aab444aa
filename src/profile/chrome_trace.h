// A recorded session, and its text as Chrome trace events.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/recording_session.h"

namespace opd {

struct TraceParts {
  // Everything that a trace is written from.
  std::vector<ThreadTrack> threads;
  ClockCalibration line;           // of the threads' buffers, measured when recording ended
  std::vector<std::string> names;  // by CallEvent::name
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

  static Ref<Trace> of_lanes(std::vector<ThreadTrack> lanes, ClockCalibration line,
                             std::vector<std::string> names);  // of this process
};

int64_t realtime_offset_ns();

// Writes JSON in pieces of some 64 KiB; no tree is built.
void write_chrome_trace(const Trace &trace, const std::function<void(std::string_view)> &sink);
std::string chrome_trace(const Trace &trace);

}  // namespace opd
