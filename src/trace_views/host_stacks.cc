#include "trace_views/host_stacks.h"

#include <algorithm>

#include "base/text.h"
#include "trace/model/stacks.h"

namespace opd {

HostStacks::HostStacks(const Trace &trace, bool is_wanted) : is_recorded_(is_wanted && trace.parts.has_stacks) {
  for (const TraceProcess &process : trace.parts.processes) processes_.emplace_back(process);
}

uint32_t HostStacks::function_of(const HostFrame &frame, const std::string &text) {
  const std::string key = frame.function.empty() ? text : concat(frame.file, "\n", frame.function);
  return functions_.try_emplace(key, static_cast<uint32_t>(functions_.size())).first->second;
}

HostStacks::FrameNumber HostStacks::frame_of(uint64_t word, Process &process) {
  const auto [place, is_new_word] = process.by_word.try_emplace(word);
  if (!is_new_word) return place->second;
  HostFrame frame = process.symbols.frame_of(word);
  std::string text = frame.text();
  std::ranges::replace(text, ';', ',');
  const auto [same, is_new] = by_text_.try_emplace(text, static_cast<FrameNumber>(frames_.size()));
  if (is_new) {
    const uint32_t function = function_of(frame, text);
    frames_.push_back({std::move(frame), std::move(text), function});
  }
  return place->second = same->second;
}

const HostStacks::Frames &HostStacks::frames_of(StackNumber stack) {
  const auto [place, fresh] = frames_of_.try_emplace(stack);
  const auto [process, id] = stacks_[stack];
  if (fresh)
    for (const uint64_t word : stack_frames(id)) place->second.push_back(frame_of(word, processes_[process]));
  return place->second;
}

const HostStacks::Frames &HostStacks::frames_within(StackNumber stack, StackNumber outer) {
  const auto [place, fresh] = within_.try_emplace(uint64_t{stack} << 32 | outer);
  if (!fresh) return place->second;
  const Frames &inner_frames = frames_of(stack), &outer_frames = frames_of(outer);
  const auto is_same_function = [this](FrameNumber a, FrameNumber b) {
    return frames_[a].function == frames_[b].function;
  };
  const auto differ = std::mismatch(inner_frames.rbegin(), inner_frames.rend(), outer_frames.rbegin(),
                                    outer_frames.rend(), is_same_function);
  place->second.assign(differ.first, inner_frames.rend());
  return place->second;
}

const std::string &HostStacks::call_stack(StackNumber stack, size_t most) {
  const uint64_t count = std::min<uint64_t>(most, UINT32_MAX);
  const auto [place, fresh] = call_stacks_.try_emplace(uint64_t{stack} << 32 | count);
  if (!fresh) return place->second;
  for (const FrameNumber number : frames_of(stack)) {
    if (most-- == 0) break;
    place->second.append(text(number)).append(1, ';');
  }
  return place->second;
}

HostStacks::StackNumber HostStacks::number_of(const Event &event, uint32_t process) {
  const StackId stack = is_recorded_ ? stack_of(event) : 0;
  if (!stack) return 0;
  const auto [place, fresh] =
      numbers_.try_emplace(uint64_t{process} << 32 | stack, static_cast<StackNumber>(stacks_.size()));
  if (fresh) stacks_.emplace_back(process, stack);
  return place->second;
}

std::vector<HostStacks::StackNumber> HostStacks::stacks_of(const ThreadSpans &thread) {
  std::vector<StackNumber> stacks(thread.spans.size());
  if (!is_recorded_) return stacks;
  for (size_t i = 0; i < stacks.size(); ++i) {  // a span comes before the spans within it
    const Span &span = thread.spans[i];
    stacks[i] = number_of(*span.event, thread.track->process);
    if (!stacks[i] && span.parent != Span::kNone) stacks[i] = stacks[span.parent];
  }
  return stacks;
}

}  // namespace opd
