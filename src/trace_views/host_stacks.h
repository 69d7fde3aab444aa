// The host's functions around the spans of a trace, in the forms that readers need.
#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loaded_objects.h"
#include "trace_views/spans.h"

namespace opd {

// ---- names of a stack's frames: functions of languages, and native functions. File and line come from libdw if it
// has them; otherwise the dynamic loader supplies the name.

struct HostSymbol {
  std::string function;  // "": unknown
  std::string file;      // source file, or if unknown, the program or library
  uint32_t line = 0;     // 0: unknown
};

struct HostFrame : HostSymbol {
  uint64_t offset = 0;                   // native functions: offset in the program or library
  const LoadedObject *object = nullptr;  // null: a function of a language, or an address outside of all objects

  std::string text() const;  // "file.py(12): function", or "libfile.so(+0x1234): function"
};

// Files are read when an address is looked up for the first time in the process; this takes about 50 ms.
class HostSymbols {
 public:
  explicit HostSymbols(std::span<const LoadedObject> objects);  // sorted by begin
  ~HostSymbols();
  HostFrame frame_of(uint64_t word);  // `word`: see trace/model/names.h

 private:
  struct Files;
  HostFrame native_frame(uint64_t address);
  HostSymbol symbol_of(const LoadedObject &object, uint64_t address);

  const std::span<const LoadedObject> objects_;
  std::unique_ptr<Files> files_;  // null: nothing was looked up yet
};

// ---- the stacks of a trace

// Frames have numbers, from 0 on. A trace without stacks has no frames, and all its stacks are 0. Stacks get numbers of
// their own instead of StackId: in a merged trace, equal ids and addresses of two processes mean different functions.
class HostStacks {
 public:
  using StackNumber = uint32_t;  // 0: none
  using FrameNumber = uint32_t;
  using Frames = std::vector<FrameNumber>;

  // `is_wanted`: false treats the trace as one without stacks.
  explicit HostStacks(const Trace &trace, bool is_wanted = true);

  bool is_recorded() const { return is_recorded_; }
  const Frames &frames_of(StackNumber stack);  // innermost first
  // The frames of `stack` that `outer` lacks, outermost first: the functions between a span and the span around it.
  const Frames &frames_within(StackNumber stack, StackNumber outer);
  const HostFrame &frame(FrameNumber number) const { return frames_[number].frame; }
  const std::string &text(FrameNumber number) const { return frames_[number].text; }
  // The texts of the first `most` frames, innermost first, each followed by ';', which the texts do not contain.
  const std::string &call_stack(StackNumber stack, size_t most = SIZE_MAX);

  StackNumber number_of(const Event &event, uint32_t process);  // the event's own stack
  // Returns a stack for each span of the thread, in their order: its own, or that of the span around it.
  std::vector<StackNumber> stacks_of(const ThreadSpans &thread);

 private:
  struct Known {
    HostFrame frame;
    std::string text;
    uint32_t function;  // number of the function; equal for all its lines
  };
  struct Process {
    explicit Process(const TraceProcess &process) : symbols(process.objects) {}
    HostSymbols symbols;
    std::unordered_map<uint64_t, FrameNumber> by_word{};
  };
  FrameNumber frame_of(uint64_t word, Process &process);
  uint32_t function_of(const HostFrame &frame, const std::string &text);

  const bool is_recorded_;
  std::deque<Process> processes_;  // parallel to the trace's processes
  std::vector<Known> frames_;
  std::unordered_map<std::string, FrameNumber> by_text_;
  std::unordered_map<std::string, uint32_t> functions_;
  std::vector<std::pair<uint32_t, StackId>> stacks_{{0, 0}};  // index: stack number; value: process and stack
  std::unordered_map<uint64_t, StackNumber> numbers_;         // maps process and stack to the stack number
  std::unordered_map<StackNumber, Frames> frames_of_;
  std::unordered_map<uint64_t, Frames> within_;
  std::unordered_map<uint64_t, std::string> call_stacks_;
};

}  // namespace opd
