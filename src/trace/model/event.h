// Events of 64 bytes, the chunks of memory that hold them, and the observers of recorded calls. The variable part of an
// event is in the words of its chunk (see Chunk).
#pragma once
#include <opdyno/dlpack.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/names.h"
#include "trace/model/recordings.h"
#include "value/metric.h"

namespace opd {

enum class EventKind : uint8_t {
  kCall,         // a call of an operator, or of one program function by another
  kRun,          // a call of a program from outside; Event::run of its calls is its number
  kRange,        // a user's range between two marks in the source
  kStep,         // a step of a profiler's schedule; `run` is its number
  kMark,         // a moment that the user marks
  kAlloc,        // a device allocates memory; see MemoryChange
  kFree,         // a device's memory is returned; see MemoryChange
  kTask,         // a task of a parallel loop; see LoopTask
  kBind,         // the library writes new contents into a block of a device; see MemoryChange
  kDeviceWork,   // a kernel or a copy on the device; see DeviceWork
  kDeviceClock,  // a comparison of the device's and the host's clocks; see DeviceMoment
  kCounter       // a measured value of a device at a moment; see counter_value()
};
inline constexpr EventKind kLastEventKind = EventKind::kCounter;

struct Event {
  static constexpr uint32_t kNoLocation = UINT32_MAX;
  uint64_t begin, end;  // ticks of the track's clock
  NameId name;          // kNoName: unknown
  EventKind kind;
  bool is_open;           // the span was open when the recording ended; `end` is that moment
  Recordings recordings;  // the recordings that the event belongs to
  uint64_t run;           // number of the run, from 1 in the process; 0: none
  union {
    DLDevice device;      // calls: device of the last tensor argument; ranges: see beginner_of()
    uint64_t parent_run;  // runs: number of the same program's run that it began in; 0: none
  };
  uint32_t location;     // calls: index of the instruction, or kNoLocation; runs: NameId of the program
  uint32_t depth;        // calls: nesting of program calls
  uint32_t num_tensors;  // number of arguments described at `shapes`
  uint32_t shapes;       // index of the tensors' descriptions in the chunk's words
  uint32_t items;        // index of further items; 0: none
  uint32_t stack;        // runs, ranges and marks: StackId of the host's stack at their start
};
static_assert(sizeof(Event) == 64);

// The events of one recording. Its bit may be that of an ended recording whose runs have not ended. Such runs mark their
// calls and themselves with the bit, but have lower numbers than the runs of this recording.
struct EventFilter {
  Recordings recordings;
  uint64_t runs_after = 0;  // number of the last run of other recordings; 0: the bit was free
  bool takes(const Event &event) const {
    if (!(event.recordings & recordings)) return false;
    return event.run > runs_after || runs_after == 0 ||
           (event.kind != EventKind::kCall && event.kind != EventKind::kRun);
  }
};

// In events of kAlloc, kFree and kBind, these replace `run` and the members after `device`, the memory's device. So
// such an event has no tensors and no items. The name of an allocation is its purpose; kNoName: tensors.
struct MemoryChange {
  uint64_t address, bytes;       // address and size of the block; kBind with 0 bytes: the block may be foreign memory
  uint64_t allocated, reserved;  // bytes of the device after the change: in use, and in use or cached
};
constexpr bool is_of_memory(EventKind kind) {
  return kind == EventKind::kAlloc || kind == EventKind::kFree || kind == EventKind::kBind;
}
// Whether the kind replaces the members after `device`, so that the event has no words in its chunk.
constexpr bool has_no_words(EventKind kind) {
  return is_of_memory(kind) || kind == EventKind::kDeviceWork || kind == EventKind::kDeviceClock ||
         kind == EventKind::kCounter;
}
inline MemoryChange memory_change(const Event &event) {
  const auto words = std::bit_cast<std::array<uint64_t, 8>>(event);
  return {words[3], words[5], words[6], words[7]};
}
inline void set_memory_change(Event &event, const MemoryChange &change) {
  auto words = std::bit_cast<std::array<uint64_t, 8>>(event);
  words[3] = change.address, words[5] = change.bytes, words[6] = change.allocated, words[7] = change.reserved;
  event = std::bit_cast<Event>(words);
}
// Events of other kinds have no stack, or use the member for other data.
inline StackId stack_of(const Event &event) {
  const bool may_have =
      event.kind == EventKind::kRun || event.kind == EventKind::kRange || event.kind == EventKind::kMark;
  return may_have ? event.stack : 0;
}
inline int64_t signed_bytes(const Event &event) {  // negative for memory that was returned
  const auto bytes = static_cast<int64_t>(memory_change(event).bytes);
  return event.kind == EventKind::kAlloc ? bytes : event.kind == EventKind::kFree ? -bytes : 0;
}

// The system id of the thread that began a range, if another thread ended it and has its event; 0: the same thread. A
// trace has the event on the beginner's track, without this number (TraceParts::return_ranges()).
inline int32_t beginner_of(const Event &range) { return range.device.device_id; }

// In events of kTask, these replace the members after `run`, the launching run. A task has no name: its loop is within
// a call, a run or a range of the launching thread, which has one.
struct LoopTask {
  uint64_t loop;  // number of the loop
  uint32_t task, num_tasks;
  uint32_t thread;  // system id of the thread that launched it
};
inline LoopTask loop_task(const Event &event) { return {event.parent_run, event.location, event.depth, event.stack}; }
inline void set_loop_task(Event &event, const LoopTask &task) {
  event.parent_run = task.loop;
  event.location = task.task, event.depth = task.num_tasks, event.stack = task.thread;
}

// In events of kDeviceWork, these replace the members after `device`, which did the work. `run` is the run that
// submitted it. Begin and end are the times of the work itself, in ticks of the process's clock.
enum class WorkKind : uint8_t {
  kKernel,
  kCopyToDevice,
  kCopyToHost,
  kCopyOnDevice,
  kFill,     // sets memory to a value
  kOverhead  // time of the driver or of CUPTI; not work of the device, and not part of its times
};
inline constexpr WorkKind kLastWorkKind = WorkKind::kOverhead;
inline constexpr uint16_t kOverheadStream = UINT16_MAX;  // `stream` of work of the kind kOverhead
struct DeviceWork {
  uint64_t launched;      // tick at which the host submitted it
  uint32_t launch_ticks;  // duration of the submission
  uint32_t thread;        // system id of the thread that submitted it
  uint64_t bytes;         // size of a copy
  uint16_t stream;        // number of the stream on the device; 0: the default stream
  WorkKind kind;
};
inline constexpr uint32_t kWorkBytesBits = 40;  // a tebibyte
inline DeviceWork device_work(const Event &event) {
  const auto words = std::bit_cast<std::array<uint64_t, 8>>(event);
  return {words[5],
          static_cast<uint32_t>(words[6]),
          static_cast<uint32_t>(words[6] >> 32),
          words[7] & ((uint64_t{1} << kWorkBytesBits) - 1),
          static_cast<uint16_t>(words[7] >> kWorkBytesBits),
          static_cast<WorkKind>(words[7] >> 56)};
}
inline void set_device_work(Event &event, const DeviceWork &work) {
  auto words = std::bit_cast<std::array<uint64_t, 8>>(event);
  words[5] = work.launched, words[6] = work.launch_ticks | uint64_t{work.thread} << 32;
  words[7] = std::min(work.bytes, (uint64_t{1} << kWorkBytesBits) - 1) | uint64_t{work.stream} << kWorkBytesBits |
             uint64_t{static_cast<uint8_t>(work.kind)} << 56;
  event = std::bit_cast<Event>(words);
}

// One moment on the clocks of a device and of the process. An event of kDeviceClock has `ticks` as its begin and end
// and the method as its name. The rest replaces the members after `device`.
struct DeviceMoment {
  static constexpr uint64_t kNotKnown = UINT64_MAX;
  NameId method = kNoName;         // method of the comparison
  uint64_t ticks = 0;              // on the process's clock
  uint64_t device_ns = kNotKnown;  // on the device's clock; kNotKnown: the driver reports only differences of times
  uint64_t error_ns = kNotKnown;   // error bound of the device's times on the process's clock
};
inline DeviceMoment device_moment(const Event &event) {
  const auto words = std::bit_cast<std::array<uint64_t, 8>>(event);
  return {event.name, event.begin, words[5], words[6]};
}
inline void set_device_moment(Event &event, const DeviceMoment &moment) {
  event.name = moment.method, event.begin = event.end = moment.ticks;
  auto words = std::bit_cast<std::array<uint64_t, 8>>(event);
  words[5] = moment.device_ns, words[6] = moment.error_ns, words[7] = 0;
  event = std::bit_cast<Event>(words);
}

// In events of kCounter, this replaces the members after `device`, the measured device. The name is that of the
// measured quantity.
inline double counter_value(const Event &event) {
  return std::bit_cast<double>(std::bit_cast<std::array<uint64_t, 8>>(event)[5]);
}
inline void set_counter_value(Event &event, double value) {
  auto words = std::bit_cast<std::array<uint64_t, 8>>(event);
  words[5] = std::bit_cast<uint64_t>(value), words[6] = words[7] = 0;
  event = std::bit_cast<Event>(words);
}

// If the counters of processors differ, the end may be before the start.
inline uint64_t length_ticks(const Event &event) { return event.end > event.begin ? event.end - event.begin : 0; }

// An item that only some events have: the message of an error, a metric of a collector.
struct EventItem {
  enum class Type : uint8_t {
    kError,     // a text without a name
    kMetric,    // a collector's metric
    kDevice,    // runs: the metrics after it belong to the device in `metric.bits`
    kObserved,  // runs: ticks that collectors took around the outermost calls, in `metric.bits`
    // The two items below are for runs in recordings that ask for outcomes.
    kFailure,  // a text without a name: the message of the error that ended the run; "" if unknown
    kContext,  // a text without a name: the bytes of a TraceContext
    kWaited    // calls: microseconds that the threads waited for a processor, without a name
  };
  Type type;
  Recordings recordings;  // the recordings whose collectors added it
  NameId name;
  Metric metric;
  std::string_view text;  // for metrics that are texts
};

// Items, encoded as events store them.
class EventItems {
 public:
  bool empty() const { return words_.empty(); }
  void add(const EventItem &item);  // copies the text
  std::span<const int64_t> words() const { return words_; }

 private:
  std::vector<int64_t> words_;  // the first word is the number of the others
};

// Readers of an event's words, for events in chunks.

namespace detail {
const int64_t *words_of(const Event &event);
}

inline uint32_t num_tensors(const Event &event) { return has_no_words(event.kind) ? 0 : event.num_tensors; }

// Calls `visit` with the dtype and the dimensions of each tensor. Returns the number of words.
template <class Visit>
size_t each_tensor(const Event &event, const Visit &visit) {
  if (num_tensors(event) == 0) return 0;
  const int64_t *const begin = detail::words_of(event) + event.shapes;
  const int64_t *at = begin;
  for (uint32_t i = 0; i < event.num_tensors; ++i) {
    const auto word = static_cast<uint64_t>(*at++);
    const auto ndim = static_cast<size_t>(word >> 32);
    visit(std::bit_cast<DLDataType>(static_cast<uint32_t>(word)), std::span<const int64_t>(at, ndim));
    at += ndim;
  }
  return static_cast<size_t>(at - begin);
}
constexpr int64_t pack_tensor(DLDataType dtype, int32_t ndim) {
  return int64_t{ndim} << 32 | std::bit_cast<uint32_t>(dtype);
}

// Events of one chunk with equal tensors mostly share their words, so the address serves as a cache key.
inline const int64_t *shapes_address(const Event &event) { return detail::words_of(event) + event.shapes; }
std::span<const int64_t> shape_words(const Event &event);  // equal words have equal texts
std::string shapes_text(const Event &event);               // "float32[1, 64], int64[]"
uint64_t tensor_bytes(const Event &event);                 // sum over all its tensors

// Reads the next item; false at the end. `at` is the position of the next item and begins with 0.
bool next_item(const Event &event, size_t &at, EventItem &item);
// The text of the event's first item of the type; data() is null if there is none.
std::string_view item_text(const Event &event, EventItem::Type type);
// The message of a call's error; "" if it did not fail.
inline std::string_view error_of(const Event &call) { return item_text(call, EventItem::Type::kError); }
// The message of the error that ended a run; data() is null if it succeeded. For recordings that ask for outcomes.
inline std::string_view failure_of(const Event &run) { return item_text(run, EventItem::Type::kFailure); }

// For items from outside: returns the number of words of the item at `words`, which has `left` words; 0: it is invalid.
size_t check_item(const int64_t *words, size_t left);
NameId item_name(int64_t first_word);
void set_item_name(int64_t &first_word, NameId name);

// ---- chunks

// The memory of events. A chunk is 64 KiB, aligned to its size. Words grow from its front and hold the variable part of
// events. The events, 64 bytes each, grow from its end, so the owner need not guess the two shares. The words of an
// event are in its own chunk, so a chunk can be read, kept or dropped alone.
class Chunk {
 public:
  static constexpr size_t kBytes = size_t{1} << 16;

  // Reuses a released chunk, or allocates one. `tail_words`: room for one large payload after the first 64 KiB, at
  // index kTail. Memory is zeroed when allocated: a page fault costs as much as thirty events.
  static std::shared_ptr<Chunk> make(uint64_t first, size_t tail_words = 0);
  // reserve() allocates until this many released chunks exist; trim() frees those above the usual number.
  static void reserve(size_t chunks);
  static void trim() noexcept;

  static constexpr size_t kTail = kBytes / sizeof(int64_t);
  static const Chunk &of(const Event &event) {
    return *reinterpret_cast<const Chunk *>(reinterpret_cast<uintptr_t>(&event) & ~(kBytes - 1));
  }

  int64_t *words() { return reinterpret_cast<int64_t *>(this); }
  const int64_t *words() const { return reinterpret_cast<const int64_t *>(this); }
  // Words begin where they do in a file's block, after its header (event_block.h).
  static constexpr size_t first_word() { return 78; }
  Event *event(size_t i) { return reinterpret_cast<Event *>(reinterpret_cast<char *>(this) + kBytes) - 1 - i; }
  const Event *event(size_t i) const { return const_cast<Chunk *>(this)->event(i); }
  static uint64_t number_of(const Event &event) {  // number of the event on its track
    const Chunk &chunk = of(event);
    return chunk.first + static_cast<uint64_t>(chunk.event(0) - &event);
  }

  // Returns the whole pages between the words below `top` and the events below `count` to the system. Others may read
  // the chunk at the same time. Without this, a program that starts a thread for each task would keep 64 KiB for a few
  // events of each thread.
  void release_free_pages(uint32_t top, uint32_t count) noexcept;

  uint64_t first = 0;              // number of its first event on the track
  std::atomic<uint32_t> count{0};  // published events: those below it are complete, with their words
  size_t tail_words = 0;
};

// ---- observers of recorded calls. Collectors implement them (profiler/).

// Belongs to one thread, which calls it outside of the calls' measured intervals.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void begin_call(DLDevice device) = 0;
  // Ends the innermost open call that started before the tick `begin`, and adds the measured values to the items of its
  // event. Calls opened after it were ended by an error and are discarded.
  virtual void end_call(uint64_t begin, EventItems &out) noexcept = 0;
  // Called around a whole run, which may be nested in another one. end_run() gets the result of begin_run().
  virtual size_t begin_run() = 0;
  virtual void end_run(size_t run, EventItems &out) noexcept = 0;
  virtual bool is_busy() const noexcept = 0;  // the observer itself is making calls, which are not recorded
};

struct ObserverSummary {  // summary of one collector over all threads
  std::string name;
  uint64_t cost_ticks = 0;
  std::optional<std::string> error;  // message of the first error
  std::string note;                  // "" if there is none
};

// Creates and owns the observers of a recording, one for each thread.
class CallObservers {
 public:
  virtual ~CallObservers() = default;
  // Creates an observer for the calling thread. `recording` marks the items that it adds. Never called concurrently.
  virtual CallObserver &of_thread(Recordings recording) = 0;
  virtual std::vector<ObserverSummary> finish() = 0;  // called when no observed call runs
};

}  // namespace opd
