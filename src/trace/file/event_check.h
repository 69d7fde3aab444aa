// Checks everything in events from files that readers rely on, and maps the file's name numbers to this process's.
#pragma once
#include <bitset>
#include <unordered_map>

#include "trace/file/event_block.h"

namespace opd {

// Maps the file's numbers to those of this process.
struct FileNumbers {
  std::unordered_map<uint32_t, NameId> names;
  std::unordered_map<uint32_t, StackId> stacks;

  NameId name(uint32_t number) const;
  StackId stack(uint32_t number) const;
};
bool is_moment(const ClockCalibration &line, uint64_t ticks);  // whether it can be converted to nanoseconds

// Checks one block of events, whose words and events are in a chunk.
class EventCheck {
 public:
  EventCheck(const FileNumbers &numbers, const ClockCalibration &line, Chunk &chunk, uint32_t top)
      : numbers_(numbers), line_(line), words_(chunk.words()), top_(top) {}

  bool repair(Event &event);  // false: the event must not be used

 private:
  bool has_tensors(const Event &event) const;
  bool take_items(const Event &event);

  const FileNumbers &numbers_;
  const ClockCalibration &line_;
  int64_t *const words_;
  const uint32_t top_;              // words in use
  std::bitset<kBlockWords> taken_;  // words of items; each belongs to one event, because its names are changed in place
};

}  // namespace opd
