#include <unordered_map>

#include "analysis/formats/text_pieces.h"
#include "analysis/formats/trace_formats.h"
#include "analysis/key_averages.h"
#include "base/json_writer.h"

namespace opd {
namespace {

class Writer {
 public:
  Writer(const Trace &trace, ByteSink &sink)
      : trace_(trace), threads_(nest_spans(trace)), out_(sink), first_(trace.first_tick()) {}

  void write() {
    out_ << "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"opdyno\",\"name\":"
         << json_string(title()) << ",\"activeProfileIndex\":0,\"profiles\":[";
    for (const ThreadSpans &thread : threads_)
      for (uint32_t lane = 0; lane < thread.num_lanes; ++lane) write_lane(thread, lane);
    out_ << "],\"shared\":{\"frames\":[";
    for (size_t i = 0; i < frames_.size(); ++i) out_ << (i ? ",\n" : "\n") << "{\"name\":" << frames_[i] << "}";
    out_ << "\n]}}\n";
    out_.flush();
  }

 private:
  std::string title() const {
    const uint64_t dropped = trace_.num_dropped();
    return dropped ? concat(trace_.parts.process_name, ", dropped events: ", dropped) : trace_.parts.process_name;
  }
  int64_t ns(uint64_t tick) const { return trace_.parts.unix_ns(tick) - trace_.parts.unix_ns(first_); }

  void write_lane(const ThreadSpans &thread, uint32_t lane) {
    uint64_t last = first_;
    for (const Span &span : thread.spans)
      if (span.lane == lane) last = std::max(last, span.event->end);
    const std::string beside = lane ? concat(", overlapping ", lane) : "";
    const std::string name = concat("thread ", thread.track->thread_id, " (", thread.track->thread_name, beside, ")");
    out_ << (is_first_ ? "\n" : ",\n")
         << "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":" << json_string(name)
         << ",\"startValue\":0,\"endValue\":" << ns(last) << ",\"events\":[";
    is_first_ = false;
    const char *separator = "\n";
    each_boundary(thread, lane, [&](const Span &span, bool is_begin) {
      out_ << separator << "{\"type\":\"" << (is_begin ? "O" : "C") << "\",\"frame\":" << frame_of(*span.event)
           << ",\"at\":" << ns(is_begin ? span.event->begin : span.event->end) << "}";
      separator = ",\n";
    });
    out_ << "\n]}";
  }

  uint32_t frame_of(const Event &event) {
    const auto [place, fresh] = places_.try_emplace(span_key(event), static_cast<uint32_t>(frames_.size()));
    if (fresh) frames_.push_back(json_string(span_name(event)));
    return place->second;
  }

  const Trace &trace_;
  const std::vector<ThreadSpans> threads_;
  TextPieces out_;
  const uint64_t first_;
  bool is_first_ = true;
  std::vector<std::string> frames_;  // as JSON
  std::unordered_map<uint64_t, uint32_t> places_;
};

}  // namespace

void write_speedscope(const Trace &trace, ByteSink &out) { Writer(trace, out).write(); }

}  // namespace opd
