// Writes a trace as Chrome trace events (JSON), with torch.profiler's fields.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/json_document.h"
#include "base/json_writer.h"
#include "trace_formats/text_pieces.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/host_stacks.h"
#include "trace_views/key_averages.h"
#include "value/dtype.h"
#include "value/tensor.h"

namespace opd {
namespace {

// The origin of the times is Unix time rounded down to a multiple of this (a quarter of a year), so that a double keeps
// nanoseconds and the traces of one job share their origin. The value is torch.profiler's.
constexpr int64_t kBaseStepNs = int64_t{7'889'238} * 1'000'000'000;
// An additional track of a thread has the thread's id plus a multiple of this, which is above all thread ids: Linux's
// limit is 2^22.
constexpr int64_t kLaneStep = 10'000'000;

// Parts of an event that are equal for all calls of one thread and name, or with the same shapes, are made once and
// reused: they are two thirds of the text.
class ChromeTraceWriter {
 public:
  ChromeTraceWriter(const Trace &trace, ByteSink &sink)
      : whole_(trace), trace_(trace.parts), host_(trace), loop_names_(trace), out_(sink) {
    first_ns_ = trace.first_ns().value_or(trace_.processes[0].unix_offset_ns);
    base_ns_ = first_ns_ - first_ns_ % kBaseStepNs;
  }

  // `members`: further members of the whole object, each preceded by a comma.
  void write(std::string_view members) {
    out_ << "{\"schemaVersion\":1,\"deviceProperties\":[]";
    for (const auto &[key, text] : trace_.metadata) out_ << "," << json_string(key) << ":" << json_string(text);
    out_ << members << ",\"opdyno_dropped_calls\":" << whole_.num_dropped();
    if (trace_.is_merged()) write_processes();
    write_device_clocks();
    out_ << ",\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":" << base_ns_ << ",\"traceEvents\":[\n";
    for (uint32_t place = 0; place < trace_.processes.size(); ++place) write_process(place);
    for (const auto &track : trace_.tracks) {
      choose(track.process);
      read_spans(track);
      for (const Event *run : track.runs) write_run(track, *run);
      for (const Event *range : track.ranges) write_range(track, *range);
      heads_.clear();
      for (const Event *call : track.calls) write_call(track, *call);
      for (const Event *task : track.tasks) write_task(track, *task);
      if (track.device) begin_stream(track);
      for (const Event *work : track.device_work) write_work(track, *work);
    }
    for (const auto &[place, device] : devices_) write_device(place, device);
    for (const auto &track : trace_.tracks) {
      choose(track.process);
      for (const Event *change : track.memory) write_memory(track, *change);
      for (const Event *counter : track.counters) write_counter(*counter);
    }
    out_ << "\n],\"traceName\":\"opdyno\"}\n";  // no bracket: TensorBoard's plug-in searches for the last one
    out_.flush();
  }

 private:
  void choose(uint32_t place) {
    process_ = &trace_.processes[place];
    pid_ = ids_[place];
    if (chosen_ != place) chosen_ = place, has_run_ = false;  // run numbers are per process
  }

  // Writes the processes and the error bounds of their times.
  void write_processes() {
    out_ << ",\"opdyno_processes\":[";
    for (uint32_t place = 0; place < trace_.processes.size(); ++place) {
      const TraceProcess &process = trace_.processes[place];
      out_ << (place ? ",{" : "{") << "\"pid\":" << ids_[place] << ",\"label\":" << json_string(process.label)
           << ",\"name\":" << json_string(process.name) << ",\"process_id\":" << process.id
           << ",\"host\":" << json_string(process.host) << ",\"clock\":" << json_string(process.clock_name)
           << ",\"clock_error_ns\":";
      if (process.clock_error_ns < 0) out_ << "null";
      else out_ << process.clock_error_ns;
      out_ << ",\"offset_ns\":" << process.shift_ns << "}";
    }
    out_ << "]";
  }

  // Writes the relation of the devices' clocks to the host's, and the error bounds of their work's times.
  void write_device_clocks() {
    const std::vector<const TraceTrack *> tracks = trace_.tracks_with_clocks();
    const auto number = [&](std::string_view key, const auto &value) {
      out_ << ",\"" << key << "\":";
      out_ << (value ? concat(*value) : "null");
    };
    if (!tracks.empty()) out_ << ",\"opdyno_device_clocks\":[";
    for (const TraceTrack *track : tracks) {
      const ClockRelation &clock = *track->clock;
      out_ << (track == tracks[0] ? "{" : ",{") << "\"pid\":" << ids_[track->process]
           << ",\"device\":" << json_string(device_name(*track->device))
           << ",\"method\":" << json_string(name_text(clock.method));
      number("error_ns", clock.error_ns);
      number("offset_ns", clock.offset_ns);
      number("drift_ppm", clock.drift ? std::optional(clock.drift->ppm) : std::nullopt);
      number("drift_error_ppm", clock.drift ? std::optional(clock.drift->error_ppm) : std::nullopt);
      out_ << "}";
    }
    if (!tracks.empty()) out_ << "]";
  }

  // Finds the stacks of a track's spans, the spans that launched work, and the spans that overlap others of their
  // thread without being nested in them. Viewers drop these, so they get separate tracks. Only ranges overlap: calls
  // and runs are nested.
  void read_spans(const TraceTrack &track) {
    lanes_.clear();
    stacks_.clear();
    const bool launches = !work_.of(track).empty();
    if (track.ranges.empty() && !host_.is_recorded() && !launches) return;
    const ThreadSpans thread = nest_spans(track);
    if (launches)
      work_.each_launch(thread, [&](const Event &work, uint32_t place) {
        if (place != Span::kNone) launched_in_.emplace(&work, thread.spans[place].event);
      });
    const std::vector<HostStacks::StackNumber> stacks = host_.stacks_of(thread);
    for (size_t i = 0; i < stacks.size(); ++i)
      if (stacks[i]) stacks_.emplace(thread.spans[i].event, stacks[i]);
    for (uint32_t lane = 1; lane < thread.num_lanes; ++lane)
      write_thread(thread_of(track, lane), concat(track.thread_name, ", overlapping ", lane));
    if (thread.num_lanes > 1)
      for (const Span &span : thread.spans)
        if (span.lane) lanes_.emplace(span.event, span.lane);
  }
  int64_t thread_of(const TraceTrack &track, uint32_t lane) const { return track.thread_id + lane * kLaneStep; }
  int64_t thread_of(const TraceTrack &track, const Event &event) const {
    if (lanes_.empty()) return track.thread_id;
    const auto found = lanes_.find(&event);
    return thread_of(track, found == lanes_.end() ? 0 : found->second);
  }

  // ",\"Call stack\":…", as torch.profiler writes it; "": the event has no stack.
  std::string_view stack_json(const Event &event) {
    const auto found = stacks_.find(&event);
    if (found == stacks_.end()) return "";
    std::string &json = stack_texts_[found->second];
    if (json.empty()) json = concat(",\"Call stack\":", json_string(host_.call_stack(found->second)));
    return json;
  }

  void write_metadata_event(std::string_view name, int64_t thread_id, std::string_view arg, std::string_view json) {
    out_ << (std::exchange(is_first_, false) ? "" : ",\n");
    out_ << "{\"ph\":\"M\",\"name\":\"" << name << "\",\"pid\":" << pid_ << ",\"tid\":" << thread_id << ",\"ts\":";
    out_.microseconds(first_ns_ - base_ns_);
    out_ << ",\"args\":{\"" << arg << "\":" << json << "}}";
  }

  void write_process(uint32_t place) {
    choose(place);
    const bool names_host = trace_.is_merged() && !process_->host.empty();
    write_metadata_event("process_name", 0, "name", json_string(process_->title()));
    write_metadata_event("process_labels", 0, "labels",
                         json_string(names_host ? concat("CPU, ", process_->host) : "CPU"));
    write_metadata_event("process_sort_index", 0, "sort_index", concat(pid_));
    for (const auto &track : trace_.tracks)
      if (track.process == place && !track.device) write_thread(track.thread_id, track.thread_name);
  }
  void write_thread(int64_t id, std::string_view thread_name) {
    write_metadata_event("thread_name", id, "name", json_string(concat("thread ", id, " (", thread_name, ")")));
    write_metadata_event("thread_sort_index", id, "sort_index", concat(id));
  }

  std::string head_of(int64_t thread_id, std::string_view category, std::string_view quoted_name) const {
    return concat(",\n{\"ph\":\"X\",\"cat\":\"", category, "\",\"name\":", quoted_name, ",\"pid\":", pid_,
                  ",\"tid\":", thread_id, ",\"ts\":");
  }
  // Writes the ids that torch.profiler gives each span.
  template <class Out>
  void write_ids(Out &out, const Event &event) {
    if (!work_.empty()) external_ids_.emplace(&event, spans_ + 1);
    out << ",\"args\":{\"External id\":" << spans_ + 1 << ",\"Record function id\":0,\"Ev Idx\":" << spans_;
    ++spans_;
  }

  // Rounds both ends instead of the length, so that spans nested in ticks are also nested in nanoseconds.
  template <class Out>
  void write_times(Out &out, uint64_t begin_tick, uint64_t end_tick) {
    const int64_t begin = process_->unix_ns(begin_tick), end = process_->unix_ns(std::max(begin_tick, end_tick));
    out.microseconds(begin - base_ns_);
    out << ",\"dur\":";
    out.microseconds(end - begin);
  }

  // Writes a run and the function that it called, before the run's calls. Of two spans with the same times, a viewer
  // takes the first as the outer one.
  void write_run(const TraceTrack &track, const Event &run) {
    const uint64_t number = whole_.run_number(run, track.process);
    const auto write = [&](std::string_view quoted_name) {
      out_ << head_of(thread_of(track, run), "user_annotation", quoted_name);
      write_times(out_, run.begin, run.end);
      write_ids(out_, run);
      out_ << ",\"Run\":" << number << stack_json(run) << (run.is_open ? ",\"Open\":1}}" : "}}");
    };
    if (whole_.is_run(run, track.process)) write(concat("\"run ", number, "\""));
    if (run.name != kNoName) write(json_string(name_text(run.name)));
  }

  void write_range(const TraceTrack &track, const Event &range) {
    const int64_t thread = thread_of(track, range);
    if (range.kind == EventKind::kMark) {
      out_ << ",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"user_annotation\",\"name\":" << json_string(name_text(range.name))
           << ",\"pid\":" << pid_ << ",\"tid\":" << thread << ",\"ts\":";
      out_.microseconds(process_->unix_ns(range.begin) - base_ns_);
      if (const std::string_view stack = stack_json(range); !stack.empty())
        out_ << ",\"args\":{" << stack.substr(1) << "}";
      out_ << "}";
      return;
    }
    out_ << head_of(thread, "user_annotation", json_string(span_name(range)));
    write_times(out_, range.begin, range.end);
    write_ids(out_, range);
    out_ << stack_json(range) << (range.is_open ? ",\"Open\":1}}" : "}}");
  }

  void write_call(const TraceTrack &track, const Event &call) {
    if (call.name >= heads_.size()) heads_.resize(size_t{call.name} + 1);
    std::string &head = heads_[call.name];
    if (head.empty()) head = head_of(track.thread_id, "cpu_op", json_string(name_text(call.name)));
    if (device_.empty() || !same(call.device, last_device_)) {
      device_ = concat(",\"Device\":\"", device_name(call.device), "\",\"Run\":");
      last_device_ = call.device;
    }
    if (!has_run_ || call.run != last_run_) {
      run_ = whole_.run_number(call, track.process);
      last_run_ = call.run;
      has_run_ = true;
    }
    const bool is_apart = !lanes_.empty() && lanes_.contains(&call);
    const std::string apart =
        is_apart ? head_of(thread_of(track, call), "cpu_op", json_string(name_text(call.name))) : "";
    const std::string_view error = error_of(call);
    const std::string failure = error.empty() ? "" : concat(",\"Error\":", json_string(error));
    const std::string &begin = is_apart ? apart : head, &tail = tail_of(call);
    const std::string_view stack = stacks_.empty() ? "" : stack_json(call);
    constexpr size_t kNumbers = 512;  // size of the numbers and the text between them
    TextCursor out =
        out_.reserve(begin.size() + device_.size() + failure.size() + stack.size() + tail.size() + kNumbers);
    out << begin;
    write_times(out, call.begin, call.end);
    write_ids(out, call);
    out << device_ << run_;
    if (call.location != Event::kNoLocation) out << ",\"Instruction\":" << call.location;
    out << ",\"Depth\":" << call.depth << failure << stack << tail;
    out_.advance(out);
  }

  void write_task(const TraceTrack &track, const Event &event) {
    const LoopTask task = loop_task(event);
    out_ << head_of(track.thread_id, "parallel_task", json_string(loop_names_.of(event, track.process)));
    write_times(out_, event.begin, event.end);
    out_ << ",\"args\":{\"Ev Idx\":" << spans_++ << ",\"Loop\":" << task.loop << ",\"Task\":" << task.task
         << ",\"Tasks\":" << task.num_tasks;
    if (event.run) out_ << ",\"Run\":" << whole_.run_number(event, track.process);
    out_ << "}}";
  }

  // ---- devices. As in torch.profiler's files, each device is a process with a small id, and its streams are threads
  // of this process. The launch is an event of the host's thread, with an arrow to the work. Readers find the operator
  // by its external id, and launches by CUDA's category.

  uint64_t external_id_of(const Event &work) const {  // 0: no span around it was recorded
    const auto around = launched_in_.find(&work);
    const auto found = around == launched_in_.end() ? external_ids_.end() : external_ids_.find(around->second);
    return found == external_ids_.end() ? 0 : found->second;
  }

  void begin_stream(const TraceTrack &track) {
    const auto [place, fresh] =
        devices_.try_emplace({track.process, track.device->device_type, track.device->device_id}, 0);
    if (fresh) {
      while (std::ranges::find(ids_, next_device_) != ids_.end()) ++next_device_;
      place->second = next_device_++;
    }
    const int64_t host = std::exchange(pid_, place->second);
    const bool is_overhead = track.stream == kOverheadStream;
    write_metadata_event("thread_name", track.stream, "name",
                         is_overhead ? "\"overhead\"" : json_string(concat("stream ", track.stream)));
    write_metadata_event("thread_sort_index", track.stream, "sort_index", concat(track.stream));
    pid_ = host;
  }
  using DeviceKey = std::tuple<uint32_t, int32_t, int32_t>;  // process; kind and number of the device
  void write_device(const DeviceKey &place, int64_t device) {
    choose(std::get<0>(place));
    const std::string name = concat(device_kind_name(std::get<1>(place)), ":", std::get<2>(place));
    const std::string title = trace_.is_merged() ? concat(process_->title(), ", ", name) : name;
    pid_ = device;
    write_metadata_event("process_name", 0, "name", json_string(title));
    write_metadata_event("process_labels", 0, "labels", json_string(name));
    write_metadata_event("process_sort_index", 0, "sort_index", concat(kDevicesBehind + device));
    chosen_ = UINT32_MAX;
  }
  void write_work(const TraceTrack &track, const Event &event) {
    const DeviceWork work = device_work(event);
    const auto [process, type, id] = DeviceKey{track.process, event.device.device_type, event.device.device_id};
    const int64_t device = devices_.at({process, type, id}), host = pid_;
    const uint64_t number = ++num_works_;
    const WorkText &text = work_text(work.kind);
    const std::string ids = concat(",\"External id\":", external_id_of(event), ",\"correlation\":", number,
                                   event.run ? concat(",\"Run\":", whole_.run_number(event, track.process)) : "");
    if (text.launch) {
      out_ << head_of(work.thread, "cuda_runtime", json_string(text.launch));
      write_times(out_, work.launched, work.launched + work.launch_ticks);
      out_ << ",\"args\":{\"Ev Idx\":" << spans_++ << ids << "}}";
      write_arrow('s', work.thread, number, work.launched);
    }
    pid_ = device;
    out_ << head_of(track.stream, text.category, json_string(name_text(event.name)));
    write_times(out_, event.begin, event.end);
    out_ << ",\"args\":{\"Ev Idx\":" << spans_++ << ",\"device\":" << device << ",\"stream\":" << work.stream << ids;
    if (has_bytes(work.kind)) out_ << ",\"bytes\":" << work.bytes;
    out_ << "}}";
    if (text.launch) write_arrow('f', track.stream, number, event.begin);
    pid_ = host;
  }
  void write_arrow(char phase, int64_t thread, uint64_t number, uint64_t tick) {
    out_ << ",\n{\"ph\":\"" << std::string_view(&phase, 1) << "\",\"id\":" << number << ",\"pid\":" << pid_
         << ",\"tid\":" << thread << ",\"ts\":";
    out_.microseconds(process_->unix_ns(tick) - base_ns_);
    out_ << ",\"cat\":\"ac2g\",\"name\":\"ac2g\"" << (phase == 'f' ? ",\"bp\":\"e\"}" : "}");
  }

  // Writes a moment on the thread, as torch.profiler does, and the totals as counters, which viewers draw.
  void write_memory(const TraceTrack &track, const Event &event) {
    const MemoryChange change = memory_change(event);
    const bool is_host = event.device.device_type == kDLCPU;
    const auto write_time = [&] { out_.microseconds(process_->unix_ns(event.begin) - base_ns_); };
    out_ << ",\n{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":" << pid_
         << ",\"tid\":" << track.thread_id << ",\"ts\":";
    write_time();
    out_ << ",\"args\":{\"Total Reserved\":" << change.reserved << ",\"Total Allocated\":" << change.allocated
         << ",\"Bytes\":" << signed_bytes(event) << ",\"Device Id\":" << (is_host ? -1 : event.device.device_id)
         << ",\"Device Type\":" << torch_device_type(event.device) << ",\"Addr\":" << change.address
         << ",\"finished\":true,\"Ev Idx\":" << spans_++;
    if (event.name != kNoName) out_ << ",\"Use\":" << json_string(name_text(event.name));
    out_ << "}},\n{\"ph\":\"C\",\"name\":\"Memory of " << device_name(event.device) << "\",\"pid\":" << pid_
         << ",\"tid\":0,\"ts\":";
    write_time();
    out_ << ",\"args\":{\"Allocated\":" << change.allocated << ",\"Reserved\":" << change.reserved << "}}";
  }
  void write_counter(const Event &event) {
    const double value = counter_value(event);
    if (!std::isfinite(value)) return;  // JSON has no infinity and no NaN
    out_ << ",\n{\"ph\":\"C\",\"name\":" << json_string(name_text(event.name)) << ",\"pid\":" << pid_
         << ",\"tid\":0,\"ts\":";
    out_.microseconds(process_->unix_ns(event.begin) - base_ns_);
    out_ << ",\"args\":{\"value\":" << concat(value) << "}}";
  }
  // The number of c10::DeviceType, or PrivateUse1 for kinds that it lacks.
  static int32_t torch_device_type(DLDevice device) {
    for (const auto &[type, number] :
         {std::pair(kDLCPU, 0), std::pair(kDLCUDA, 1), std::pair(kDLOpenCL, 4), std::pair(kDLVulkan, 10)})
      if (type == device.device_type) return number;
    return 20;
  }

  const std::string &tail_of(const Event &call) {
    if (!call.num_tensors) return no_shapes_;
    return tails_.of(call, &shapes_json);
  }

  // Writes dimensions, dtypes and the end of the event.
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
  HostStacks host_;
  LoopNames loop_names_;
  TextPieces out_;
  const std::vector<int64_t> ids_ = trace_.distinct_ids();
  const TraceProcess *process_ = nullptr;  // the current process, its index, and its id in the file
  uint32_t chosen_ = 0;
  int64_t pid_ = 0;
  bool is_first_ = true;  // no event was written yet
  int64_t first_ns_ = 0, base_ns_ = 0;
  uint64_t spans_ = 0;  // written so far
  std::string device_;
  DLDevice last_device_{};
  const GivenWork work_{whole_};
  std::unordered_map<const Event *, uint64_t> external_ids_;      // ids of spans; empty if there is no work
  std::unordered_map<const Event *, const Event *> launched_in_;  // key: the work; value: the span around its launch
  std::map<DeviceKey, int64_t> devices_;                          // ids of the processes that stand for devices
  int64_t next_device_ = 0;
  uint64_t num_works_ = 0;  // written so far
  static constexpr int64_t kDevicesBehind = 1'000'000'000;
  uint64_t run_ = 0, last_run_ = 0;  // number of the outermost run, and the Event::run that it was computed for
  bool has_run_ = false;
  std::vector<std::string> heads_;                     // for the current thread; index: NameId
  std::unordered_map<const Event *, uint32_t> lanes_;  // for the current thread: spans that overlap others
  std::unordered_map<const Event *, HostStacks::StackNumber> stacks_;  // for the current thread
  std::unordered_map<HostStacks::StackNumber, std::string> stack_texts_;
  ShapeCache<std::string> tails_;
  const std::string no_shapes_ = shapes_json(Event{});
};

}  // namespace

void write_chrome_trace(const Trace &trace, std::string_view metadata, ByteSink &sink) {
  std::string members;
  if (!metadata.empty()) {
    const JsonDocument document(metadata, "the metadata of a trace");
    if (!cJSON_IsObject(document.root())) fail(OPD_INVALID_ARGUMENT, "the metadata of a trace must be a JSON object");
    const size_t begin = metadata.find('{'), end = metadata.rfind('}');
    const std::string_view inner = metadata.substr(begin + 1, end - begin - 1);
    if (inner.find_first_not_of(" \t\r\n") != std::string_view::npos) members = concat(",", inner);
  }
  constexpr uint64_t kUsualBytes = 300;  // usual size of a call in the file
  sink.reserve(trace.num_calls() * kUsualBytes);
  ChromeTraceWriter(trace, sink).write(members);
}

}  // namespace opd
