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

// How the clock of a device was related to the host's, of all that is on the device's tracks.
struct ClockRelation {
  NameId method = kNoName;          // how the clocks were compared, at last
  std::optional<int64_t> error_ns;  // how far the times of the tracks may be off; none: not known
  // CLOCK_MONOTONIC less the device's clock, at the last comparison; none: the driver has only differences of times.
  std::optional<int64_t> offset_ns;
  struct Drift {
    double ppm, error_ppm;  // how much faster the device's clock runs, and how far that may be off
  };
  std::optional<Drift> drift;  // none: the comparisons are too few, or too close to each other, to tell

  std::string text() const;  // "bracketed events, error 1200 ns, offset …, drift …"
};

// The events of one thread, or the work of one stream of a device, in the order of their ends.
struct TraceTrack {
  int64_t thread_id = 0;
  std::string thread_name;
  uint32_t process = 0;  // its place in the trace
  uint64_t dropped = 0;  // calls for which there was no room
  std::vector<std::shared_ptr<Chunk>> chunks;
  std::vector<const Event *> calls, runs, ranges;  // in the chunks; steps and marks are among the ranges
  std::vector<const Event *> memory;               // kAlloc and kFree
  std::vector<const Event *> binds;                // apart, since they change no totals
  std::vector<const Event *> tasks;                // of parallel loops
  std::vector<const Event *> device_work;          // of the track's stream
  std::vector<const Event *> clocks;               // kDeviceClock, until the tracks of devices have their relations
  std::vector<const Event *> counters;
  std::optional<DLDevice> device;      // none: the track is a thread's
  std::optional<ClockRelation> clock;  // of the device
  uint16_t stream = 0;                 // of the device; 0: the default one

  bool is_empty() const {
    return dropped == 0 && std::ranges::all_of(lists(), [](const auto *list) { return list->empty(); });
  }
  std::vector<const Event *> &list_of(EventKind kind);
  // All events but those of `clocks`, each list in the order of their ends.
  std::array<std::vector<const Event *> *, 8> lists() {
    return {&runs, &ranges, &calls, &memory, &binds, &tasks, &device_work, &counters};
  }
  std::array<const std::vector<const Event *> *, 8> lists() const {
    return {&runs, &ranges, &calls, &memory, &binds, &tasks, &device_work, &counters};
  }
  // Adds the chunks' events from number `first` on that belong to the recordings. Returns the number of the next event.
  uint64_t add_events(std::vector<std::shared_ptr<Chunk>> from, uint64_t first, Recordings recordings);
  // Adds what had not ended, from the outermost on.
  void add_open(std::span<const Event> open);
};

struct TraceParts {
  std::vector<TraceProcess> processes{1};  // several, if traces were merged (trace/model/merge.h)
  std::vector<TraceTrack> tracks;          // with events, or with dropped ones
  bool has_memory = false;                 // whether memory was recorded
  bool has_stacks = false;                 // whether stacks were
  std::vector<ObserverSummary> observers;
  std::vector<std::pair<std::string, std::string>> metadata;  // in order

  bool is_merged() const { return !processes[0].label.empty(); }
  std::string titles() const;  // of the processes; of many, the first ones'
  // Numbers of the processes for files, which tell processes apart by them: the system's, but where another process has
  // the same one.
  std::vector<int64_t> distinct_ids() const;
  const TraceProcess &process_of(const TraceTrack &track) const { return processes[track.process]; }
  // Lengths of several processes are summed in ticks of the first one.
  uint64_t common_ticks(uint64_t ticks, const TraceTrack &track) const {
    const double own = process_of(track).line.ns_per_tick, first = processes[0].line.ns_per_tick;
    return own == first ? ticks : static_cast<uint64_t>(static_cast<double>(ticks) * (own / first) + 0.5);
  }
  void drop_before(uint64_t tick);  // of one process: drops events that ended earlier
  // Of one process: drops runs, ranges and steps that began later, and other events that ended later. For work of
  // devices, the time of the launch counts.
  void drop_after(uint64_t tick);
  // Moves the work of each stream to a track of its own, after the tracks of threads. Before, it is on the track of the
  // thread that read its times.
  void divide_device_work();
  // One of each device, among those whose clocks are known.
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
  // Unix times of the first begin and of the last end of all events; none: there is no event.
  std::optional<int64_t> first_ns() const;
  std::optional<int64_t> last_ns() const;
  uint64_t num_dropped() const;
  // Runs that no other run of the trace contains, numbered from 0 in the order of their begins, process after process.
  size_t num_runs() const { return num_runs_; }
  bool is_run(const Event &run, uint32_t process = 0) const {
    const RunNumber *found = run_of(run, process);
    return found && found->is_outermost;
  }
  // Of a call or a run; num_runs() if the run is not of the trace.
  uint64_t run_number(const Event &event, uint32_t process = 0) const {
    const RunNumber *found = run_of(event, process);
    return found ? found->number : num_runs_;
  }

 private:
  struct RunNumber {
    uint64_t process, run;  // place of the process, Event::run
    uint64_t number;        // of the outermost run
    bool is_outermost;
  };
  void number_runs();
  const RunNumber *find_run(uint64_t process, uint64_t run) const;  // null: it is not there
  const RunNumber *run_of(const Event &event, uint32_t process) const { return find_run(process, event.run); }

  std::vector<RunNumber> runs_;  // by rising process and run
  size_t num_runs_ = 0;
};

}  // namespace opd
