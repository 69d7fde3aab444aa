// Writes a trace as JSON for speedscope: one profile of open and close events for each lane of a thread.
#include <algorithm>
#include <unordered_map>

#include "base/json_writer.h"
#include "trace_formats/text_pieces.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/host_stacks.h"
#include "trace_views/key_averages.h"

namespace opd {
namespace {

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Trace &trace, ByteSink &sink)
      : trace_(trace),
        threads_(nest_all_spans(trace, true)),
        out_(sink),
        first_ns_(trace.first_ns().value_or(0)),
        host_(trace),
        loop_names_(trace) {}

  void write() {
    out_ << "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"opdyno\",\"name\":"
         << json_string(title()) << ",\"activeProfileIndex\":0,\"profiles\":[";
    for (const ThreadSpans &thread : threads_)
      for (uint32_t lane = 0; lane < thread.num_lanes; ++lane) write_lane(thread, lane);
    out_ << "],\"shared\":{\"frames\":[";
    for (size_t i = 0; i < frames_.size(); ++i) out_ << (i ? ",\n" : "\n") << "{\"name\":" << frames_[i];
    out_ << "\n]}}\n";
    out_.flush();
  }

 private:
  std::string title() const {
    const uint64_t dropped = trace_.num_dropped();
    return trace_.parts.titles() + (dropped ? concat(", dropped events: ", dropped) : "");
  }

  void write_lane(const ThreadSpans &thread, uint32_t lane) {
    const TraceProcess &process = trace_.parts.process_of(*thread.track);
    const auto ns = [&](uint64_t tick) { return process.unix_ns(tick) - first_ns_; };
    int64_t last = 0;
    for (const Span &span : thread.spans)
      if (span.lane == lane) last = std::max(last, ns(span.event->end));
    const std::string beside = lane ? concat(", overlapping ", lane) : "";
    const std::string of = trace_.parts.is_merged() ? process.title() + ": " : "";
    const std::string name = thread.track->device ? concat(of, thread.track->thread_name, beside)
                                                  : concat(of, "thread ", thread.track->thread_id, " (",
                                                           thread.track->thread_name, beside, ")");
    out_ << (is_first_ ? "\n" : ",\n")
         << "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":" << json_string(name)
         << ",\"startValue\":0,\"endValue\":" << last << ",\"events\":[";
    is_first_ = false;
    const std::vector<HostStacks::StackNumber> stacks = host_.stacks_of(thread);
    const char *separator = "\n";
    const auto write = [&](const Span &span, bool is_begin, uint32_t frame) {
      out_ << separator << "{\"type\":\"" << (is_begin ? "O" : "C") << "\",\"frame\":" << frame
           << ",\"at\":" << ns(is_begin ? span.event->begin : span.event->end) << "}";
      separator = ",\n";
    };
    each_boundary(thread, lane, [&](const Span &span, bool is_begin) {
      const HostStacks::StackNumber stack = stacks[static_cast<size_t>(&span - thread.spans.data())];
      const HostStacks::StackNumber outer = span.parent == Span::kNone ? 0 : stacks[span.parent];
      if (!is_begin) write(span, false, frame_of(*span.event, thread));
      if (stack != outer) {
        HostStacks::Frames functions = host_.frames_within(stack, outer);
        if (!is_begin) std::ranges::reverse(functions);
        for (const HostStacks::FrameNumber function : functions) write(span, is_begin, frame_of(function));
      }
      if (is_begin) write(span, true, frame_of(*span.event, thread));
    });
    out_ << "\n]}";
  }

  uint32_t frame_of(const Event &event, const ThreadSpans &thread) {
    if (event.kind == EventKind::kTask) return frame_of_task(loop_names_.of(event, thread.track->process));
    const auto [place, fresh] = places_.try_emplace(span_key(event), static_cast<uint32_t>(frames_.size()));
    if (fresh) frames_.push_back(json_string(span_name(event)) + "}");
    return place->second;
  }
  uint32_t frame_of_task(const std::string &name) {
    const auto [place, fresh] = task_places_.try_emplace(name, static_cast<uint32_t>(frames_.size()));
    if (fresh) frames_.push_back(json_string(concat(name, " (task)")) + "}");
    return place->second;
  }
  uint32_t frame_of(HostStacks::FrameNumber function) {
    const auto [place, fresh] = host_places_.try_emplace(function, static_cast<uint32_t>(frames_.size()));
    if (!fresh) return place->second;
    const HostFrame &frame = host_.frame(function);
    std::string text = json_string(frame.function.empty() ? host_.text(function) : frame.function);
    append(text += ",\"file\":", json_string(frame.file));
    if (frame.line) append(text += ",\"line\":", frame.line);
    frames_.push_back(text + "}");
    return place->second;
  }

  const Trace &trace_;
  const std::vector<ThreadSpans> threads_;
  TextPieces out_;
  const int64_t first_ns_;
  bool is_first_ = true;
  HostStacks host_;
  LoopNames loop_names_;
  std::vector<std::string> frames_;  // as JSON, without the key of the name
  std::unordered_map<uint64_t, uint32_t> places_;
  std::unordered_map<HostStacks::FrameNumber, uint32_t> host_places_;
  std::unordered_map<std::string, uint32_t> task_places_;  // key: name of the loop
};

}  // namespace

void write_speedscope(const Trace &trace, ByteSink &out) { SpeedscopeWriter(trace, out).write(); }

}  // namespace opd
