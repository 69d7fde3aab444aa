// Checks everything in events from files that readers rely on, and maps the file's name numbers to this process's.
#pragma once
#include <bitset>
#include <cmath>
#include <unordered_map>

#include "trace/file/event_block.h"

namespace opd {

// Maps the file's numbers to those of this process.
struct FileNumbers {
  std::unordered_map<uint32_t, NameId> names;
  std::unordered_map<uint32_t, StackId> stacks;

  NameId name(uint32_t number) const {
    if (number == kNoName) return kNoName;
    const auto found = names.find(number);
    return found != names.end() ? found->second : kMostNames;  // shown as "?"
  }
  StackId stack(uint32_t number) const {
    const auto found = stacks.find(number);
    return found != stacks.end() ? found->second : 0;
  }
};

// Whether the tick can be converted to nanoseconds.
inline bool is_moment(const ClockCalibration &line, uint64_t ticks) {
  constexpr double kMost = 1e18;  // ns: differences of such times, and sums with Unix times, stay below 2^63
  const uint64_t anchor = line.anchor.ticks, distance = ticks > anchor ? ticks - anchor : anchor - ticks;
  return distance < uint64_t{1} << 62 && static_cast<double>(distance) * line.ns_per_tick < kMost;
}

// Checks one block of events, whose words and events are in a chunk.
class EventCheck {
 public:
  EventCheck(const FileNumbers &numbers, const ClockCalibration &line, Chunk &chunk, uint32_t top)
      : numbers_(numbers), line_(line), words_(chunk.words()), top_(top) {}

  // False: the event must not be used.
  bool repair(Event &event) {
    // Some members have types whose invalid byte values must not be read.
    const auto *bytes = reinterpret_cast<const unsigned char *>(&event);
    if (bytes[offsetof(Event, kind)] > static_cast<unsigned char>(kLastEventKind) ||
        bytes[offsetof(Event, is_open)] > 1)
      return false;
    if (!is_moment(line_, event.begin) || !is_moment(line_, event.end)) return false;
    event.name = numbers_.name(event.name);
    if (event.name == kNoName && event.kind == EventKind::kCall) event.name = kMostNames;  // a call must have a name
    if (stack_of(event)) event.stack = numbers_.stack(event.stack);
    if (is_of_memory(event.kind)) {
      constexpr uint64_t kMostBytes = uint64_t{1} << 42;  // readers sum them
      const MemoryChange change = memory_change(event);
      return change.bytes < kMostBytes && change.allocated < kMostBytes && change.reserved < kMostBytes;
    }
    if (event.kind == EventKind::kDeviceWork) {
      const DeviceWork work = device_work(event);
      return work.kind <= kLastWorkKind && is_moment(line_, work.launched);
    }
    if (event.kind == EventKind::kDeviceClock) {
      constexpr uint64_t kMost = uint64_t{1} << 62;  // differences of such times are computed
      const DeviceMoment moment = device_moment(event);
      return (moment.device_ns < kMost || moment.device_ns == DeviceMoment::kNotKnown) &&
             (moment.error_ns < kMost || moment.error_ns == DeviceMoment::kNotKnown);
    }
    if (event.kind == EventKind::kCounter) return std::isfinite(counter_value(event));
    constexpr uint32_t kMostDepth = 1 << 20;  // readers have a place for each depth
    if (event.kind == EventKind::kCall && event.depth >= kMostDepth) return false;
    return has_tensors(event) && take_items(event);
  }

 private:
  bool has_tensors(const Event &event) const {
    uint64_t at = event.shapes;
    for (uint32_t i = 0; i < event.num_tensors; ++i) {
      if (at < kHeaderWords || at >= top_) return false;
      at += 1 + (static_cast<uint64_t>(words_[at]) >> 32);
    }
    return event.num_tensors == 0 || at <= top_;
  }

  bool take_items(const Event &event) {
    if (event.items == 0) return true;
    if (event.items < kHeaderWords || event.items >= top_) return false;
    const uint64_t size = static_cast<uint64_t>(words_[event.items]), end = event.items + 1 + size;
    if (size > top_ || end > top_) return false;
    for (uint64_t at = event.items; at < end; ++at)
      if (taken_.test(at)) return false;
    for (uint64_t at = event.items; at < end; ++at) taken_.set(at);
    for (uint64_t at = event.items + 1; at < end;) {
      const size_t words = check_item(words_ + at, end - at);
      if (words == 0) return false;
      set_item_name(words_[at], numbers_.name(item_name(words_[at])));
      at += words;
    }
    return true;
  }

  const FileNumbers &numbers_;
  const ClockCalibration &line_;
  int64_t *const words_;
  const uint32_t top_;              // words in use
  std::bitset<kBlockWords> taken_;  // words of items; each belongs to one event, because its names are changed in place
};

}  // namespace opd
