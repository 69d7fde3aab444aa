#include "analysis/chrome_trace.h"

#include <charconv>
#include <cstring>

#include "base/json_writer.h"
#include "device/device.h"
#include "trace/shape_cache.h"
#include "value/tensor.h"

namespace opd {
namespace {

// The origin of the times: Unix time is rounded down to a multiple of this (a quarter of a year), so that a double
// keeps nanoseconds and traces of one job share their origin. The number is torch.profiler's.
constexpr int64_t kBaseStepNs = int64_t{7'889'238} * 1'000'000'000;

// Collects text and hands it on in pieces.
class Pieces {
 public:
  explicit Pieces(const std::function<void(std::string_view)> &sink) : sink_(sink) {}

  Pieces &operator<<(std::string_view text) {
    if (text.size() > room()) [[unlikely]]
      flush();
    if (text.size() > room()) sink_(text);  // a name may be longer than a piece
    else at_ = static_cast<char *>(std::memcpy(at_, text.data(), text.size())) + text.size();
    return *this;
  }
  template <std::integral T>
  Pieces &operator<<(T number) {
    if (room() < kMostDigits) [[unlikely]]
      flush();
    at_ = std::to_chars(at_, end(), number).ptr;
    return *this;
  }
  // Microseconds with exactly three decimals.
  void microseconds(int64_t ns) {
    if (ns < 0) *this << "-", ns = -ns;
    const auto rest = static_cast<int>(ns % 1000);
    const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                             static_cast<char>('0' + rest % 10)};
    *this << ns / 1000 << std::string_view(decimals, sizeof decimals);
  }
  void flush() {
    if (at_ != piece_.get()) sink_({piece_.get(), static_cast<size_t>(at_ - piece_.get())});
    at_ = piece_.get();
  }

 private:
  static constexpr size_t kPieceBytes = size_t{1} << 16, kMostDigits = 20;
  char *end() const { return piece_.get() + kPieceBytes; }
  size_t room() const { return static_cast<size_t>(end() - at_); }

  const std::function<void(std::string_view)> &sink_;
  const std::unique_ptr<char[]> piece_ = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  char *at_ = piece_.get();
};

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

// What of an event is the same for all calls of one thread and name, or with the same shapes, is made once: it is two
// thirds of the text.
class Writer {
 public:
  Writer(const Trace &trace, const std::function<void(std::string_view)> &sink)
      : whole_(trace), trace_(trace.parts), out_(sink) {
    uint64_t first = UINT64_MAX;
    for (const auto &track : trace_.tracks) {
      for (const Event *run : track.runs) first = std::min(first, run->begin);
      for (const Event *range : track.ranges) first = std::min(first, range->begin);
      for (const Event *call : track.calls)
        first = std::min(first, call->begin);  // they are in the order of their ends
    }
    first_ns_ = first == UINT64_MAX ? trace_.unix_offset_ns : unix_ns(first);
    base_ns_ = first_ns_ - first_ns_ % kBaseStepNs;
  }

  void write(uint64_t dropped) {
    out_ << "{\"schemaVersion\":1,\"deviceProperties\":[]";
    for (const auto &[key, text] : trace_.metadata) out_ << "," << quoted(key) << ":" << quoted(text);
    out_ << ",\"opdyno_dropped_calls\":" << dropped;
    out_ << ",\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":" << base_ns_ << ",\"traceEvents\":[\n";
    write_process();
    for (const auto &track : trace_.tracks) {
      for (const Event *run : track.runs) write_run(track, *run);
      for (const Event *range : track.ranges) write_range(track, *range);
      heads_.clear();
      for (const Event *call : track.calls) write_call(track, *call);
    }
    out_ << "\n],\"traceName\":\"opdyno\"}\n";  // without a bracket: TensorBoard's plug-in searches for the last one
    out_.flush();
  }

 private:
  // Whole nanoseconds are added as integers: a double of them would lose digits after 104 days without a restart.
  int64_t unix_ns(uint64_t ticks) const {
    const ClockCalibration &line = trace_.line;
    const double ns = static_cast<double>(static_cast<int64_t>(ticks - line.anchor.ticks)) * line.ns_per_tick;
    const int64_t whole = ns < 0 ? -static_cast<int64_t>(0.5 - ns) : static_cast<int64_t>(ns + 0.5);
    return static_cast<int64_t>(line.anchor.ns) + whole + trace_.unix_offset_ns;
  }

  void write_metadata_event(std::string_view name, int64_t thread_id, std::string_view arg, std::string_view json) {
    if (thread_id || name != "process_name") out_ << ",\n";  // the first event of all
    out_ << "{\"ph\":\"M\",\"name\":\"" << name << "\",\"pid\":" << trace_.process_id << ",\"tid\":" << thread_id
         << ",\"ts\":";
    out_.microseconds(first_ns_ - base_ns_);
    out_ << ",\"args\":{\"" << arg << "\":" << json << "}}";
  }

  void write_process() {
    write_metadata_event("process_name", 0, "name", quoted(trace_.process_name));
    write_metadata_event("process_labels", 0, "labels", "\"CPU\"");
    write_metadata_event("process_sort_index", 0, "sort_index", concat(trace_.process_id));
    for (const auto &track : trace_.tracks) {
      const std::string name = concat("thread ", track.thread_id, " (", track.thread_name, ")");
      write_metadata_event("thread_name", track.thread_id, "name", quoted(name));
      write_metadata_event("thread_sort_index", track.thread_id, "sort_index", concat(track.thread_id));
    }
  }

  std::string head_of(const TraceTrack &track, std::string_view category, std::string_view quoted_name) const {
    return concat(",\n{\"ph\":\"X\",\"cat\":\"", category, "\",\"name\":", quoted_name, ",\"pid\":", trace_.process_id,
                  ",\"tid\":", track.thread_id, ",\"ts\":");
  }

  // Rounds both ends instead of the length, so that spans that nest in ticks nest in nanoseconds, too.
  void write_times(uint64_t begin_tick, uint64_t end_tick) {
    const int64_t begin = unix_ns(begin_tick), end = unix_ns(std::max(begin_tick, end_tick));
    out_.microseconds(begin - base_ns_);
    out_ << ",\"dur\":";
    out_.microseconds(end - begin);
  }

  // Writes a run and the function that it called, around the run's calls. A viewer takes the first one for the outer
  // one.
  void write_run(const TraceTrack &track, const Event &run) {
    const uint64_t number = whole_.run_number(run);
    const auto write = [&](std::string_view quoted_name) {
      out_ << head_of(track, "user_annotation", quoted_name);
      write_times(run.begin, run.end);
      out_ << ",\"args\":{\"Run\":" << number << "}}";
    };
    if (whole_.is_run(run)) write(concat("\"run ", number, "\""));
    if (run.name != kNoName) write(quoted(name_text(run.name)));
  }

  void write_range(const TraceTrack &track, const Event &range) {
    out_ << head_of(track, "user_annotation", quoted(name_text(range.name)));
    write_times(range.begin, range.end);
    out_ << "}";
  }

  void write_call(const TraceTrack &track, const Event &call) {
    if (call.name >= heads_.size()) heads_.resize(size_t{call.name} + 1);
    std::string &head = heads_[call.name];
    if (head.empty()) head = head_of(track, "cpu_op", quoted(name_text(call.name)));
    out_ << head;
    write_times(call.begin, call.end);
    out_ << ",\"args\":{\"External id\":" << calls_ + 1 << ",\"Record function id\":0,\"Ev Idx\":" << calls_;
    ++calls_;
    if (device_.empty() || !same(call.device, last_device_)) {
      device_ = concat(",\"Device\":\"", device_name(call.device), "\",\"Run\":");
      last_device_ = call.device;
    }
    if (!has_run_ || call.run != last_run_) {
      run_ = whole_.run_number(call);
      last_run_ = call.run;
      has_run_ = true;
    }
    out_ << device_ << run_;
    if (call.location != Event::kNoLocation) out_ << ",\"Instruction\":" << call.location;
    out_ << ",\"Depth\":" << call.depth;
    if (const std::string_view error = error_of(call); !error.empty()) out_ << ",\"Error\":" << quoted(error);
    out_ << tail_of(call);
  }

  const std::string &tail_of(const Event &call) {
    if (!call.num_tensors) return no_shapes_;
    return tails_.of(call, &shapes_json);
  }

  // Dimensions and dtypes, and the end of the event.
  static std::string shapes_json(const Event &call) {
    std::string dims, dtypes;
    each_tensor(call, [&](DLDataType dtype, std::span<const int64_t> shape) {
      if (!dims.empty()) dims += ',', dtypes += ',';
      append_json_string(dtypes, dtype_name(dtype));
      for (size_t i = 0; i < shape.size(); ++i) append(dims += i ? ',' : '[', shape[i]);
      dims += shape.empty() ? "[]" : "]";
    });
    return concat(",\"Input Dims\":[", dims, "],\"Input type\":[", dtypes, "]}}");
  }

  const Trace &whole_;
  const TraceParts &trace_;
  Pieces out_;
  int64_t first_ns_ = 0, base_ns_ = 0;
  uint64_t calls_ = 0;
  std::string device_;
  DLDevice last_device_{};
  uint64_t run_ = 0, last_run_ = 0;  // number of the run, and the Event::run that it is of
  bool has_run_ = false;
  std::vector<std::string> heads_;  // of the current thread, by NameId
  ShapeCache<std::string> tails_;
  const std::string no_shapes_ = shapes_json(Event{});
};

}  // namespace

void write_chrome_trace(const Trace &trace, const std::function<void(std::string_view)> &sink) {
  Writer(trace, sink).write(trace.num_dropped());
}

std::string chrome_trace(const Trace &trace) {
  std::string out;
  write_chrome_trace(trace, [&](std::string_view piece) { out += piece; });
  return out;
}

}  // namespace opd
