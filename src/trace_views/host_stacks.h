// The host's functions around the spans of a trace, in the forms that readers want.
#pragma once
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace_views/host_symbols.h"
#include "trace_views/spans.h"

namespace opd {

// Frames have numbers, from 0 on. A trace without stacks has no frames: all its stacks are 0. Stacks are numbered anew,
// not by StackId, because in a merged trace equal ids and addresses of two processes are different functions.
class HostStacks {
 public:
  using StackNumber = uint32_t;  // 0: none
  using FrameNumber = uint32_t;
  using Frames = std::vector<FrameNumber>;

  // `is_wanted`: false is as if no stacks were recorded.
  explicit HostStacks(const Trace &trace, bool is_wanted = true);

  bool is_recorded() const { return is_recorded_; }
  const Frames &frames_of(StackNumber stack);  // from the innermost on
  // The frames of `stack` that `outer` does not have, outermost first: the functions between a span and the span around
  // it.
  const Frames &frames_within(StackNumber stack, StackNumber outer);
  const HostFrame &frame(FrameNumber number) const { return frames_[number].frame; }
  const std::string &text(FrameNumber number) const { return frames_[number].text; }
  // The frames' texts from the innermost on, each with ';' behind it, which texts do not contain: the first `most`.
  const std::string &call_stack(StackNumber stack, size_t most = SIZE_MAX);

  StackNumber number_of(const Event &event, uint32_t process);  // of its own stack
  // One for each span of the thread, in their order: its own stack, or that of the span around it.
  std::vector<StackNumber> stacks_of(const ThreadSpans &thread);

 private:
  struct Known {
    HostFrame frame;
    std::string text;
    uint32_t function;  // equal ones for all lines of one function
  };
  struct Process {
    explicit Process(const TraceProcess &process) : symbols(process.objects) {}
    HostSymbols symbols;
    std::unordered_map<uint64_t, FrameNumber> by_word{};
  };
  FrameNumber frame_of(uint64_t word, Process &process);
  uint32_t function_of(const HostFrame &frame, const std::string &text);

  const bool is_recorded_;
  std::deque<Process> processes_;  // as those of the trace
  std::vector<Known> frames_;
  std::unordered_map<std::string, FrameNumber> by_text_;
  std::unordered_map<std::string, uint32_t> functions_;
  std::vector<std::pair<uint32_t, StackId>> stacks_{{0, 0}};  // by number: the process and the stack
  std::unordered_map<uint64_t, StackNumber> numbers_;         // by these
  std::unordered_map<StackNumber, Frames> frames_of_;
  std::unordered_map<uint64_t, Frames> within_;
  std::unordered_map<uint64_t, std::string> call_stacks_;
};

}  // namespace opd
