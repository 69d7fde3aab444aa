// The content of a recording: the events of each thread, and the process and the clock that they belong to.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/model/call_observer.h"
#include "trace/model/chunk.h"
#include "trace/model/process.h"
#include "value/value.h"

namespace opd {

// How the clock of a device was related to the host's clock, for all events on the device's tracks.
struct ClockRelation {
  NameId method = kNoName;          // method of the last comparison of the clocks
  std::optional<int64_t> error_ns;  // error bound of the times on the tracks; none: unknown
  // CLOCK_MONOTONIC minus the device's clock at the last comparison; none: the driver reports only differences of
  // times.
  std::optional<int64_t> offset_ns;
  struct Drift {
    double ppm, error_ppm;  // how much faster the device's clock runs, and the error bound
  };
  std::optional<Drift> drift;  // none: the comparisons are too few or too close together

  std::string text() const;  // "bracketed events, error 1200 ns, offset …, drift …"
};

// The events of one thread, or the work of one stream of a device, in the order of their ends.
struct TraceTrack {
  int64_t thread_id = 0;
  std::string thread_name;
  uint32_t process = 0;  // index in TraceParts::processes
  uint64_t dropped = 0;  // number of calls for which there was no room
  std::vector<std::shared_ptr<Chunk>> chunks;
  std::vector<const Event *> calls, runs, ranges;  // these point into the chunks; steps and marks are among the ranges
  std::vector<const Event *> memory;               // kAlloc and kFree
  std::vector<const Event *> binds;                // separate, because they do not change totals
  std::vector<const Event *> tasks;                // of parallel loops
  std::vector<const Event *> device_work;          // work of the track's stream
  std::vector<const Event *> clocks;               // kDeviceClock; kept until device tracks have relations
  std::vector<const Event *> counters;
  std::optional<DLDevice> device;      // none: the track is a thread's
  std::optional<ClockRelation> clock;  // of the device's clock
  uint16_t stream = 0;                 // stream of the device; 0: the default stream

  bool is_empty() const {
    return dropped == 0 && std::ranges::all_of(lists(), [](const auto *list) { return list->empty(); });
  }
  std::vector<const Event *> &list_of(EventKind kind);
  // All events except `clocks`; each list is in the order of its events' ends.
  std::array<std::vector<const Event *> *, 8> lists() {
    return {&runs, &ranges, &calls, &memory, &binds, &tasks, &device_work, &counters};
  }
  std::array<const std::vector<const Event *> *, 8> lists() const {
    return {&runs, &ranges, &calls, &memory, &binds, &tasks, &device_work, &counters};
  }
  // Adds the chunks' events from number `first` on that belong to the recordings. Returns the number of the next event.
  uint64_t add_events(std::vector<std::shared_ptr<Chunk>> from, uint64_t first, Recordings recordings);
  // Adds open spans, outermost first.
  void add_open(std::span<const Event> open);
};

struct TraceParts {
  std::vector<TraceProcess> processes{1};  // several if traces were merged (trace/model/merge.h)
  std::vector<TraceTrack> tracks;          // tracks with events or dropped events
  bool has_memory = false;                 // whether memory was recorded
  bool has_stacks = false;                 // whether stacks were recorded
  std::vector<ObserverSummary> observers;
  std::vector<std::pair<std::string, std::string>> metadata;  // in order

  bool is_merged() const { return !processes[0].label.empty(); }
  std::string titles() const;  // titles of the processes; if there are many, of the first ones
  // Process ids for files, which identify processes by them: the system's ids, except where two processes have the same
  // one.
  std::vector<int64_t> distinct_ids() const;
  const TraceProcess &process_of(const TraceTrack &track) const { return processes[track.process]; }
  // Converts to ticks of the first process, so that lengths of several processes can be added.
  uint64_t common_ticks(uint64_t ticks, const TraceTrack &track) const {
    const double own = process_of(track).line.ns_per_tick, first = processes[0].line.ns_per_tick;
    return own == first ? ticks : static_cast<uint64_t>(static_cast<double>(ticks) * (own / first) + 0.5);
  }
  void drop_before(uint64_t tick);  // for one process: drops events that ended before the tick
  // For one process: drops runs, ranges and steps that began after the tick, and other events that ended after it. For
  // work of devices, the time of the launch counts.
  void drop_after(uint64_t tick);
  // Moves the work of each stream from the track of the thread that read its times to a track of its own, after the
  // tracks of threads.
  void divide_device_work();
  // One track for each device whose clock is known.
  std::vector<const TraceTrack *> tracks_with_clocks() const;
  double duration_ns(uint64_t common_ticks) const { return processes[0].line.duration_ns(common_ticks); }
};

// Immutable.
struct Trace : Object {
  static int32_t type();  // "opdyno.Trace"
  const TraceParts parts;

  explicit Trace(TraceParts p);
  size_t num_calls() const;
  size_t num_spans() const;  // calls, runs, ranges, steps and marks
  // Unix times of the first begin and of the last end of all events; none: there are no events.
  std::optional<int64_t> first_ns() const;
  std::optional<int64_t> last_ns() const;
  uint64_t num_dropped() const;
  // Runs that no other run of the trace contains, numbered from 0 in the order of their begins, process by process.
  size_t num_runs() const { return num_runs_; }
  bool is_run(const Event &run, uint32_t process = 0) const {
    const RunNumber *found = run_of(run, process);
    return found && found->is_outermost;
  }
  // The number of the outermost run that a call or a run belongs to; num_runs() if that run is not in the trace.
  uint64_t run_number(const Event &event, uint32_t process = 0) const {
    const RunNumber *found = run_of(event, process);
    return found ? found->number : num_runs_;
  }

 private:
  struct RunNumber {
    uint64_t process, run;  // index of the process; Event::run
    uint64_t number;        // number of the outermost run
    bool is_outermost;
  };
  void number_runs();
  const RunNumber *find_run(uint64_t process, uint64_t run) const;  // null: not found
  const RunNumber *run_of(const Event &event, uint32_t process) const { return find_run(process, event.run); }

  std::vector<RunNumber> runs_;  // sorted by process and run
  size_t num_runs_ = 0;
};

}  // namespace opd
