#include "profile/chrome_trace.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "base/file.h"
#include "base/json_writer.h"
#include "report/shape_text.h"

namespace opd {
namespace {

// The origin of the times: Unix time is rounded down to a multiple of this (a quarter of a year), so that a double
// keeps nanoseconds and traces of one job share their origin. The number is torch.profiler's.
constexpr int64_t kBaseStepNs = int64_t{7'889'238} * 1'000'000'000;
constexpr size_t kPieceBytes = size_t{1} << 16;

class Writer {
 public:
  Writer(const Trace &trace, const std::function<void(std::string_view)> &sink) : trace_(trace.parts), sink_(sink) {
    for (const auto &name : trace_.names) append_json_string(quoted_.emplace_back(), name);
    int64_t first = INT64_MAX;
    for (const auto &thread : trace_.threads)
      for (const RunSpan &span : thread.runs) first = std::min(first, unix_ns(span.begin));
    for (const auto &thread : trace_.threads)  // records are in the order of their ends
      for (uint64_t i = 0; i < thread.buffer.size(); ++i) first = std::min(first, unix_ns(thread.buffer.at(i).begin));
    first_ns_ = first == INT64_MAX ? trace_.unix_offset_ns : first;
    base_ns_ = first_ns_ - first_ns_ % kBaseStepNs;
  }

  void write(uint64_t dropped) {
    out_ = "{\"schemaVersion\":1,\"deviceProperties\":[]";
    for (const auto &[key, text] : trace_.metadata) {
      append_json_string(out_ += ',', key);
      append_json_string(out_ += ':', text);
    }
    append(out_ += ",\"opdyno_dropped_calls\":", dropped);
    append(out_ += ",\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":", base_ns_);
    out_ += ",\"traceEvents\":[\n";
    write_process();
    for (const auto &thread : trace_.threads) {
      for (const RunSpan &span : thread.runs) write_run(thread, span);
      write_calls(thread);
    }
    out_ += "\n],\"traceName\":\"opdyno\"}\n";  // without a bracket: TensorBoard's plug-in searches for the last one
    sink_(out_);
  }

 private:
  int64_t unix_ns(uint64_t ticks) const { return std::llround(trace_.line.ns_of(ticks)) + trace_.unix_offset_ns; }

  // µs with exactly three decimals.
  void append_us(int64_t ns) {
    if (ns < 0) out_ += '-', ns = -ns;
    append(out_, ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    for (const char c : {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                         static_cast<char>('0' + rest % 10)})
      out_ += c;
  }

  void write_metadata_event(std::string_view name, int64_t thread_id, std::string_view arg, std::string_view json) {
    if (written_++) out_ += ",\n";
    append(out_ += "{\"ph\":\"M\",\"name\":\"", name);
    append(out_ += "\",\"pid\":", trace_.process_id);
    append(out_ += ",\"tid\":", thread_id);
    out_ += ",\"ts\":";
    append_us(first_ns_ - base_ns_);
    append(append_to(out_, ",\"args\":{\"", arg, "\":"), json);
    out_ += "}}";
  }

  void write_process() {
    write_metadata_event("process_name", 0, "name", quote(trace_.process_name));
    write_metadata_event("process_labels", 0, "labels", "\"CPU\"");
    write_metadata_event("process_sort_index", 0, "sort_index", concat(trace_.process_id));
    for (const auto &thread : trace_.threads) {
      const std::string name = concat("thread ", thread.thread_id, " (", thread.thread_name, ")");
      write_metadata_event("thread_name", thread.thread_id, "name", quote(name));
      write_metadata_event("thread_sort_index", thread.thread_id, "sort_index", concat(thread.thread_id));
    }
  }

  // Writes a run and the function that it called, around the run's calls. A viewer takes the first one for the outer
  // one.
  void write_run(const ThreadTrack &thread, const RunSpan &span) {
    write_span(thread, "user_annotation", concat("\"run ", span.run, "\""), span.begin, span.end);
    append(out_ += ",\"args\":{\"Run\":", span.run);
    out_ += "}}";
    if (span.function >= quoted_.size()) return;
    write_span(thread, "user_annotation", quoted_[span.function], span.begin, span.end);
    append(out_ += ",\"args\":{\"Run\":", span.run);
    out_ += "}}";
  }

  // Rounds both ends instead of the length, so that spans that nest in ticks nest in nanoseconds, too.
  void write_span(const ThreadTrack &thread, std::string_view category, std::string_view quoted_name,
                  uint64_t begin_tick, uint64_t end_tick) {
    const int64_t begin = unix_ns(begin_tick), end = unix_ns(std::max(begin_tick, end_tick));
    if (written_++) out_ += ",\n";
    append_to(out_, "{\"ph\":\"X\",\"cat\":\"", category, "\",\"name\":", quoted_name, ",\"pid\":");
    append(out_, trace_.process_id);
    append(out_ += ",\"tid\":", thread.thread_id);
    out_ += ",\"ts\":";
    append_us(begin - base_ns_);
    out_ += ",\"dur\":";
    append_us(end - begin);
  }

  void write_calls(const ThreadTrack &thread) {
    for (uint64_t i = 0; i < thread.buffer.size(); ++i) {
      write_call(thread, thread.buffer.at(i));
      if (out_.size() < kPieceBytes) continue;
      sink_(out_);
      out_.clear();
    }
  }

  void write_call(const ThreadTrack &thread, const CallEvent &record) {
    write_span(thread, "cpu_op", record.name < quoted_.size() ? std::string_view(quoted_[record.name]) : "\"?\"",
               record.begin, record.end);
    append(out_ += ",\"args\":{\"External id\":", calls_ + 1);
    append(out_ += ",\"Record function id\":0,\"Ev Idx\":", calls_++);
    append(append_to(out_, ",\"Device\":\"", device_name(record.device), "\",\"Run\":"), record.run);
    if (record.location != CallEvent::kNoLocation) append(out_ += ",\"Instruction\":", record.location);
    append(out_ += ",\"Depth\":", record.depth);
    if (thread.buffer.has_failures())
      if (const std::string_view error = thread.buffer.failure_of(record); !error.empty())
        append_json_string(out_ += ",\"Error\":", error);
    write_shapes(thread.buffer.shapes_text(record));
    out_ += "}}";
  }

  void write_shapes(std::string_view shapes) {
    std::string dtypes;
    out_ += ",\"Input Dims\":[";
    while (!shapes.empty()) {
      const ShapeText shape = take_shape(shapes);
      if (!dtypes.empty()) out_ += ',', dtypes += ',';
      append_json_string(dtypes, shape.dtype);
      for (const char c : shape.dims)
        if (c != ' ') out_ += c;
    }
    append_to(out_, "],\"Input type\":[", dtypes, "]");
  }

  static std::string quote(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
  }
  template <class... Parts>
  static std::string &append_to(std::string &out, const Parts &...parts) {
    (append(out, parts), ...);
    return out;
  }

  const TraceParts &trace_;
  const std::function<void(std::string_view)> &sink_;
  std::vector<std::string> quoted_;  // the names, each escaped once
  int64_t first_ns_ = 0, base_ns_ = 0;
  uint64_t written_ = 0, calls_ = 0;
  std::string out_;
};

std::string trimmed_file(const char *path) {  // reads a name that the kernel shows in /proc
  char text[64] = "";
  if (FILE *file = std::fopen(path, "re")) {
    text[std::fread(text, 1, sizeof text - 1, file)] = '\0';
    std::fclose(file);
  }
  const std::string_view name = text;
  return std::string(name.substr(0, name.find('\n')));
}

}  // namespace

int32_t Trace::type() {
  static const int32_t index = register_type("opdyno.Trace");
  return index;
}

size_t Trace::num_calls() const {
  size_t calls = 0;
  for (const auto &thread : parts.threads) calls += thread.buffer.size();
  return calls;
}

uint64_t Trace::num_dropped() const {
  uint64_t dropped = 0;
  for (const auto &thread : parts.threads) dropped += thread.buffer.dropped();
  return dropped;
}

Ref<Trace> Trace::of_lanes(std::vector<ThreadTrack> lanes, ClockCalibration line, std::vector<std::string> names) {
  TraceParts parts;
  parts.threads = std::move(lanes);
  parts.line = line;
  parts.names = std::move(names);
  parts.process_id = ::getpid();
  parts.process_name = trimmed_file("/proc/self/comm");
  parts.unix_offset_ns = realtime_offset_ns();
  return make_object<Trace>(std::move(parts));
}

int64_t realtime_offset_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - static_cast<int64_t>(monotonic_ns());
}

void write_chrome_trace(const Trace &trace, const std::function<void(std::string_view)> &sink) {
  Writer(trace, sink).write(trace.num_dropped());
}

std::string chrome_trace(const Trace &trace) {
  std::string out;
  write_chrome_trace(trace, [&](std::string_view piece) { out += piece; });
  return out;
}

}  // namespace opd
