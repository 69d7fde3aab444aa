// Traces, the contents of recordings: the events of each thread, with their process and clock. Also merges traces, and
// caches texts that readers make of tensors' descriptions.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/loaded_objects.h"
#include "trace/model/event.h"
#include "value/value.h"

namespace opd {

// The process that the tracks of a trace belong to, and its clocks.
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

// The relation of a device's clock to the host's clock, for all events on the device's tracks.
struct ClockRelation {
  NameId method = kNoName;          // method of the last comparison of the clocks
  std::optional<int64_t> error_ns;  // error bound of the times on the tracks; none: unknown
  // CLOCK_MONOTONIC minus the device's clock at the last comparison; none: the driver reports only differences of
  // times.
  std::optional<int64_t> offset_ns;
  struct Drift {
    double ppm, error_ppm;  // the device's clock is faster by this much; the error bound
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
  std::vector<const Event *> tasks;                // tasks of parallel loops
  std::vector<const Event *> device_work;          // work of the track's stream
  std::vector<const Event *> clocks;               // kDeviceClock; kept until device tracks have relations
  std::vector<const Event *> counters;
  std::optional<DLDevice> device;      // none: the track is a thread's
  std::optional<ClockRelation> clock;  // relation of the device's clock to the host's
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
  // Adds the chunks' events from number `first` on that pass the filter. Returns the number of the next event.
  uint64_t add_events(std::vector<std::shared_ptr<Chunk>> from, uint64_t first, const EventFilter &filter);
  // Adds open spans, outermost first.
  void add_open(std::span<const Event> open) { add_copies({open.rbegin(), open.rend()}); }
  void add_copies(const std::vector<Event> &events);  // in the order of their ends
};

struct TraceParts {
  std::vector<TraceProcess> processes{1};  // several if traces were merged
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
  // Orders moments of all tracks: by ticks, which differ more than nanoseconds, if there is one process, else by time.
  int64_t order_of(uint64_t tick, const TraceTrack &track) const {
    return processes.size() == 1 ? static_cast<int64_t>(tick) : process_of(track).unix_ns(tick);
  }
  // Adds a track of events that are lost, if there are any, and removes tracks that have neither events nor lost ones.
  void finish_tracks(const char *name_of_lost, uint64_t lost);
  void drop_before(uint64_t tick);  // drops events that ended before the tick; the trace must be of one process
  // For one process: drops runs, ranges and steps that began after the tick, and other events that ended after it. For
  // work of devices, the time of the launch counts.
  void drop_after(uint64_t tick);
  // Moves ranges that another thread ended to the tracks of the threads that began them.
  void return_ranges();
  // Moves the work of each stream from the track of the thread that read its times to a track of its own, after the
  // tracks of threads.
  void divide_device_work();
  // One track for each device whose clock is known.
  std::vector<const TraceTrack *> tracks_with_clocks() const;
  double duration_ns(uint64_t common_ticks) const { return processes[0].line.duration_ns(common_ticks); }
};

// Immutable.
struct Trace : Object {
  static int32_t type() { return registered_type<"opdyno.Trace">(); }
  const TraceParts parts;

  explicit Trace(TraceParts p);
  size_t num_calls() const;
  size_t num_spans() const;  // calls, runs, ranges, steps and marks
  // Unix times of the first begin and of the last end of all events; none: there are no events.
  std::optional<int64_t> first_ns() const;
  std::optional<int64_t> last_ns() const;
  uint64_t num_dropped() const;
  // Runs that no other run of the trace contains, numbered from 0 in the order of their starts, process by process.
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

// ---- merging traces of several recordings, processes and machines into one. The tracks share the chunks of the
// originals. Cost: 8 bytes an event, and the sorting of the runs.

struct TraceMergeOptions {
  // Each list is empty, or has one item for each trace.
  std::vector<std::string> labels{};       // "": the processes keep their titles
  std::vector<int64_t> shifts_ns{};        // added to the times
  std::vector<int64_t> clock_errors_ns{};  // -1: the recording's own error
};

// All times are Unix times. Processes that share a monotonic clock use the first one's offset from Unix time, so a
// change of the system's time between them does not move them apart. Throws OPD_INVALID_ARGUMENT.
Ref<Trace> merge_traces(std::span<const Trace *const> traces, const TraceMergeOptions &options);

// ---- caches of texts that readers make of tensors' descriptions. The key is the address, which events with equal
// tensors mostly share.

template <class T>
class ShapeCache {
 public:
  // make(event), cached by the tensors' description.
  template <class Make>
  const T &of(const Event &event, const Make &make) {
    const int64_t *const address = shapes_address(event);
    Entry &entry = entries_[reinterpret_cast<uintptr_t>(address) / sizeof(int64_t) % entries_.size()];
    if (entry.address != address) entry = {address, make(event)};
    return entry.made;
  }

 private:
  struct Entry {
    const int64_t *address = nullptr;
    T made;
  };
  std::vector<Entry> entries_ = std::vector<Entry>(1024);
};

// Numbers for distinct lists of tensors, from 1 on; 0: no tensor.
class ShapeNumbers {
 public:
  uint32_t of(const Event &event) {
    if (num_tensors(event) == 0) return 0;
    return by_address_.of(event, [this](const Event &first) {
      const std::span<const int64_t> words = shape_words(first);
      const std::string_view key(reinterpret_cast<const char *>(words.data()), words.size_bytes());
      return by_words_.try_emplace(key, static_cast<uint32_t>(by_words_.size() + 1)).first->second;
    });
  }

 private:
  ShapeCache<uint32_t> by_address_;
  std::unordered_map<std::string_view, uint32_t> by_words_;  // keys are views of words in the trace
};

}  // namespace opd
