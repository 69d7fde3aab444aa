// The page that shows a trace, and the trace in it: base64 of gzip of one line of JSON and columns of numbers. So text
// of a trace is never markup or script, and a call takes one to three bytes. trace_page/data.js reads it.
#include <array>
#include <unordered_map>

#include "base/json_writer.h"
#include "trace_formats/proto_writer.h"
#include "trace_formats/trace_file.h"
#include "trace_formats/trace_formats.h"
#include "trace_formats/trace_page.h"  // made of the files in trace_page/
#include "trace_views/host_stacks.h"
#include "trace_views/key_averages.h"

namespace opd {
namespace {

// Spans are sorted by thread. On a thread, each span comes before the spans within it.
class Data {
 public:
  explicit Data(const Trace &trace)
      : trace_(trace), threads_(nest_all_spans(trace, true)), host_(trace), loop_names_(trace) {
    first_ns_ = trace.first_ns().value_or(trace.parts.processes[0].unix_offset_ns);
    size_t spans = 0;
    for (const ThreadSpans &thread : threads_) spans += thread.spans.size();
    for (ProtoWriter &column : columns_) column.reserve(2 * spans);
    for (const ThreadSpans &thread : threads_) {
      last_begin_ = 0;
      process_ = &trace.parts.process_of(*thread.track);
      const std::vector<HostStacks::StackNumber> stacks = host_.stacks_of(thread);
      for (size_t i = 0; i < stacks.size(); ++i) add(thread.spans[i], thread.track->process, stacks[i]);
    }
  }

  void write(ByteSink &out) {
    JsonWriter head;
    head.begin_object().key("process").value(trace_.parts.titles());
    head.key("begin_us").value(first_ns_ / 1000);  // Unix time; the other times are ns from this moment on
    uint64_t interval = 1;
    for (const TraceProcess &process : trace_.parts.processes) interval = std::max(interval, process.sample_interval);
    head.key("sample_interval").value(interval);
    if (trace_.parts.is_merged()) write_processes(head);
    head.key("threads").begin_array();
    for (const ThreadSpans &thread : threads_) {
      head.begin_object().key("id").value(thread.track->thread_id).key("name").value(thread.track->thread_name);
      if (thread.track->device) head.key("device").value(true);
      if (trace_.parts.is_merged()) head.key("process").value(thread.track->process);
      head.key("dropped").value(thread.track->dropped).key("spans").value(thread.spans.size()).end_object();
    }
    head.end_array().key("labels").raw(labels_.end_array().take());
    head.key("shapes").raw(shapes_.end_array().take());
    head.key("stacks").raw(stacks_.end_array().take());
    head.key("errors").raw(errors_.end_array().take()).end_object();
    out.write(head.take() + "\n");
    for (const ProtoWriter &column : columns_) out.write(column.str());
  }

 private:
  // In the page's order.
  enum : size_t { kLabel, kBegin, kDuration, kCovered, kDepth, kLane, kShapes, kStack, kNumColumns };

  void write_processes(JsonWriter &head) const {
    head.key("processes").begin_array();
    for (const TraceProcess &process : trace_.parts.processes) {
      head.begin_object().key("label").value(process.label).key("name").value(process.name);
      head.key("id").value(process.id).key("host").value(process.host).key("clock").value(process.clock_name);
      head.key("clock_error_ns").value(process.clock_error_ns).key("offset_ns").value(process.shift_ns).end_object();
    }
    head.end_array();
  }

  void add(const Span &span, uint32_t process, HostStacks::StackNumber stack) {
    const Event &event = *span.event;
    const int64_t begin = process_->unix_ns(std::min(event.begin, event.end)) - first_ns_;
    const int64_t duration = process_->unix_ns(event.end) - first_ns_ - begin;
    const auto self = static_cast<int64_t>(process_->line.duration_ns(span.self) + 0.5);
    columns_[kLabel].varint(event.kind == EventKind::kTask ? label_of_task(event, process) : label_of(event));
    const int64_t step = begin - last_begin_;
    columns_[kBegin].varint(static_cast<uint64_t>(step) << 1 ^ static_cast<uint64_t>(step >> 63));
    columns_[kDuration].varint(static_cast<uint64_t>(duration));
    columns_[kCovered].varint(static_cast<uint64_t>(std::max(duration - self, int64_t{0})));  // time of nested spans
    columns_[kDepth].varint(span.depth);
    columns_[kLane].varint(uint64_t{span.lane} << 1 | event.is_open);
    columns_[kShapes].varint(shapes_of(event));
    columns_[kStack].varint(stack);
    while (num_stacks_ < stack) stacks_.value(host_.call_stack(++num_stacks_));
    last_begin_ = begin;
    if (const std::string_view error = error_of(event); !error.empty())
      errors_.begin_array().value(num_spans_).value(error).end_array();
    ++num_spans_;
  }

  // A label is a name and a kind. For steps and tasks it also has the name that all of them share; for tasks, also the
  // index within its loop.
  uint32_t label_of(const Event &event) {
    const auto kind = static_cast<size_t>(event.kind);
    const auto [place, fresh] = places_[kind].try_emplace(span_key(event), num_labels_);
    if (fresh) {
      labels_.begin_array().value(span_name(event)).value(kind);
      if (event.kind == EventKind::kStep) labels_.value(joined_name(event));
      labels_.end_array();
      ++num_labels_;
    }
    return place->second;
  }

  uint32_t label_of_task(const Event &event, uint32_t process) {
    const LoopTask task = loop_task(event);
    const std::string &name = loop_names_.of(event, process), which = concat(task.task, " of ", task.num_tasks);
    const auto [place, fresh] = task_places_.try_emplace(concat(which, " of ", name), num_labels_);
    if (fresh) {
      labels_.begin_array().value(name).value(static_cast<size_t>(event.kind)).value(name).value(which).end_array();
      ++num_labels_;
    }
    return place->second;
  }

  uint32_t shapes_of(const Event &event) {
    const uint32_t number = numbers_.of(event);
    if (number > num_shapes_) shapes_.value(shapes_text(event)), num_shapes_ = number;
    return number;
  }

  const Trace &trace_;
  const std::vector<ThreadSpans> threads_;
  const TraceProcess *process_ = nullptr;  // process of the current thread
  int64_t first_ns_ = 0, last_begin_ = 0;
  uint32_t num_spans_ = 0, num_labels_ = 0, num_shapes_ = 0, num_stacks_ = 0;
  std::array<ProtoWriter, kNumColumns> columns_;  // numbers of 7 bits a byte, lowest bits first
  std::array<std::unordered_map<uint64_t, uint32_t>, static_cast<size_t>(kLastEventKind) + 1>
      places_;  // index of a label, by kind and key
  std::unordered_map<std::string, uint32_t> task_places_;
  ShapeNumbers numbers_;
  HostStacks host_;
  LoopNames loop_names_;
  JsonWriter labels_ = array(), shapes_ = array(), stacks_ = array(), errors_ = array();

  static JsonWriter array() { return std::move(JsonWriter().begin_array()); }
};

}  // namespace

void write_html(const Trace &trace, ByteSink &out) {
  constexpr std::string_view kPlace = "TRACE_DATA";
  constexpr size_t place = kTracePage.find(kPlace);
  static_assert(place != std::string_view::npos);
  out.write(kTracePage.substr(0, place));
  Base64Sink text(out);
  GzipSink packed(text);
  Data(trace).write(packed);
  packed.finish();
  text.finish();
  out.write(kTracePage.substr(place + kPlace.size()));
}

}  // namespace opd
