// What a recording recorded: the events of each thread, and the clock that their ticks belong to.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "trace/call_observer.h"
#include "trace/chunk.h"
#include "value/value.h"

namespace opd {

// The events of one thread, in the order of their ends.
struct TraceTrack {
  int64_t thread_id = 0;
  std::string thread_name;
  uint64_t dropped = 0;  // calls for which there was no room
  std::vector<std::shared_ptr<Chunk>> chunks;
  std::vector<const Event *> calls, runs, ranges;  // in the chunks; steps and marks are among the ranges
  std::vector<const Event *> memory;               // kAlloc and kFree

  bool is_empty() const { return calls.empty() && runs.empty() && ranges.empty() && memory.empty() && dropped == 0; }
  std::vector<const Event *> &list_of(EventKind kind);
  // Adds the chunks' events from number `first` on that belong to the recordings.
  void add_events(std::vector<std::shared_ptr<Chunk>> from, uint64_t first, Recordings recordings);
  // Adds what had not ended, from the outermost on.
  void add_open(std::span<const Event> open);
};

struct TraceParts {
  std::vector<TraceTrack> tracks;  // with events, or with dropped ones
  ClockId clock = tick_clock();
  ClockCalibration line;      // of that clock, measured when recording ended
  Recordings recordings = 0;  // bit of the recording: other ones' items of an event are not its own
  uint64_t sample_interval = 1;
  bool has_memory = false;  // whether memory was recorded
  std::vector<ObserverSummary> observers;
  int64_t process_id = 0;
  std::string process_name;
  int64_t unix_offset_ns = 0;                                 // Unix time less CLOCK_MONOTONIC: realtime_offset_ns()
  std::vector<std::pair<std::string, std::string>> metadata;  // in order

  void describe_process();  // fills the three members above with those of this process
  int64_t unix_ns(uint64_t ticks) const;
};

// Immutable.
struct Trace : Object {
  static int32_t type();  // "opdyno.Trace"
  const TraceParts parts;

  explicit Trace(TraceParts p) : parts(std::move(p)) { number_runs(); }
  size_t num_calls() const;
  uint64_t first_tick() const;  // of all begins; UINT64_MAX: there is no event
  uint64_t last_tick() const;   // of all ends; 0: there is no event
  uint64_t num_dropped() const;
  // Runs that no other run of the trace contains, numbered from 0 in the order of their begins.
  size_t num_runs() const { return num_runs_; }
  bool is_run(const Event &run) const {
    const RunNumber *found = run_of(run);
    return found && found->is_outermost;
  }
  uint64_t run_number(const Event &event) const {  // of a call or a run; num_runs() if the run is not of the trace
    const RunNumber *found = run_of(event);
    return found ? found->number : num_runs_;
  }

 private:
  struct RunNumber {
    uint64_t run;     // Event::run
    uint64_t number;  // of the outermost run
    bool is_outermost;
  };
  void number_runs();
  const RunNumber *run_of(const Event &event) const;

  std::vector<RunNumber> runs_;  // by rising `run`
  size_t num_runs_ = 0;
};

int64_t realtime_offset_ns();

}  // namespace opd
