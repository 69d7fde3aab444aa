// Writes a trace in Perfetto's format: a sequence of packets, which are protocol buffers.
#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "trace_formats/proto_writer.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/host_stacks.h"
#include "trace_views/key_averages.h"
#include "trace_views/spans.h"
#include "value/dtype.h"

namespace opd {
namespace {

// Field numbers and values of Perfetto's messages.
constexpr uint32_t kTracePacket = 1;  // field of the message Trace
namespace packet {
enum : uint32_t { kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent, kInternedData, kSequenceFlags };
enum : uint32_t { kPreviousDropped = 42, kDefaults = 59, kTrackDescriptor };
}  // namespace packet
namespace snapshot {
enum : uint32_t { kClocks = 1 };
enum : uint32_t { kClockId = 1, kClockTimestamp, kIsIncremental };
}  // namespace snapshot
namespace defaults {
enum : uint32_t { kTrackEvent = 11, kTimestampClockId = 58 };
}
namespace descriptor {
enum : uint32_t { kUuid = 1, kName, kProcess, kThread, kParentUuid, kCounter = 8, kDescription = 14 };
enum : uint32_t { kUnit = 3 };
enum : uint32_t { kSizeBytes = 3 };
enum : uint32_t { kPid = 1, kTid, kThreadName = 5, kProcessName, kProcessLabels = 8 };
}  // namespace descriptor
namespace track_event {
enum : uint32_t { kCategoryIids = 3, kDebugAnnotations, kType = 9, kNameIid, kTrackUuid, kCounterValue = 30 };
enum : uint32_t { kSourceIid = 34, kDoubleCounterValue = 44, kFlowIds = 47, kTerminatingFlowIds };
enum : uint32_t { kSliceBegin = 1, kSliceEnd, kInstant, kCounter };
}  // namespace track_event
namespace annotation {
enum : uint32_t { kNameIid = 1, kIntValue = 4, kStringValueIid = 17 };
}
namespace interned {
enum : uint32_t { kEventCategories = 1, kEventNames, kAnnotationNames, kSources, kAnnotationStrings = 29 };
enum : uint32_t { kIid = 1, kText };
}  // namespace interned
namespace source {
enum : uint32_t { kIid = 1, kFile, kFunction, kLine };
}
constexpr uint64_t kRealtimeClock = 1, kBootClock = 6, kDeltaClock = 64;  // ids from 64 on belong to a sequence
constexpr uint64_t kStateCleared = 1, kNeedsState = 2;

enum Annotation : uint64_t { kShapes = 1, kOpen, kCallStack };
enum EventCategory : uint64_t {
  kOperator = 1,
  kUser,
  kTaskOfLoop,
  kKernelOfDevice,
  kCopyOfDevice,
  kLaunch,
  kFillOfDevice,
  kOverhead
};
constexpr const char *kTrackCategories[] = {
    "",           "cpu_op", "user_annotation", "parallel_task", "kernel",
    "gpu_memcpy", "launch", "gpu_memset",      "overhead"};  // index: EventCategory
constexpr EventCategory kOfWork[] = {kKernelOfDevice, kCopyOfDevice, kCopyOfDevice,
                                     kCopyOfDevice,   kFillOfDevice, kOverhead};  // index: WorkKind

// Each track is a sequence of packets. Packets have the time since the previous one, and numbers instead of texts.
class PerfettoWriter {
 public:
  PerfettoWriter(const Trace &trace, ByteSink &sink) : trace_(trace), host_(trace), loop_names_(trace), sink_(sink) {
    const int64_t offset = trace.parts.processes[0].unix_offset_ns;
    boot_unix_ns_ = trace.parts.is_merged() ? std::min(offset, trace.first_ns().value_or(offset)) : offset;
  }

  void write() {
    const TraceParts &parts = trace_.parts;
    uint64_t sequence = parts.processes.size();  // the processes have the first sequences
    for (uint32_t place = 0; place < parts.processes.size(); ++place) choose(place), write_process();
    for (const TraceTrack &track : parts.tracks) {
      choose(track.process);
      const ThreadSpans thread = nest_spans(track, true);
      for (uint32_t lane = 0; lane < thread.num_lanes; ++lane) write_lane(thread, lane, ++sequence);
    }
    for (uint32_t place = 0; place < parts.processes.size(); ++place)
      choose(place), sequence = write_counters(write_memory(sequence + 1) + 1);
    flush();
  }

 private:
  void choose(uint32_t place) {
    place_ = place;
    process_ = &trace_.parts.processes[place];
    process_track_ = place + 1;
  }

  void put(const ProtoWriter &message) { put_bytes(message.str()); }
  void put_bytes(std::string_view message) {
    constexpr size_t kPiece = size_t{1} << 16;
    file_.bytes(kTracePacket, message);
    if (file_.str().size() > kPiece) flush();
  }
  void flush() {
    sink_.write(file_.str());
    file_.clear();
  }

  // Times count from the boot of the first process's system, or from the first event if that came before. A packet
  // relates them to Unix time.
  uint64_t boot_ns(uint64_t tick) const {
    return static_cast<uint64_t>(std::max<int64_t>(process_->unix_ns(tick) - boot_unix_ns_, 0));
  }
  static ProtoWriter clock(uint64_t id, uint64_t timestamp, bool is_incremental = false) {
    ProtoWriter made;
    made.number(snapshot::kClockId, id).number(snapshot::kClockTimestamp, timestamp);
    if (is_incremental) made.number(snapshot::kIsIncremental, 1);
    return made;
  }

  void write_clocks() {
    const int64_t unix_now = process_->unix_ns(process_->line.anchor.ticks);
    const auto now = static_cast<uint64_t>(unix_now - boot_unix_ns_);
    ProtoWriter clocks, made;
    clocks.message(snapshot::kClocks, clock(kBootClock, now));
    clocks.message(snapshot::kClocks, clock(kRealtimeClock, static_cast<uint64_t>(unix_now)));
    made.message(packet::kClockSnapshot, clocks).number(packet::kTimestamp, now);
    put(made.number(packet::kSequenceId, process_track_));
  }
  void write_process() {
    if (place_ == 0) write_clocks();
    ProtoWriter process, track;
    process.number(descriptor::kPid, process_id());
    process.text(descriptor::kProcessName, process_->title());
    if (!process_->label.empty() && !process_->host.empty()) process.text(descriptor::kProcessLabels, process_->host);
    track.number(descriptor::kUuid, process_track_).message(descriptor::kProcess, process);
    put(ProtoWriter().message(packet::kTrackDescriptor, track).number(packet::kSequenceId, process_track_));
  }
  uint64_t process_id() const { return static_cast<uint64_t>(ids_[place_]); }

  void write_track(const TraceTrack &track, uint32_t lane) {
    ProtoWriter made, thread;
    made.number(descriptor::kUuid, sequence_).number(descriptor::kParentUuid, process_track_);
    if (track.device) {
      made.text(descriptor::kName, lane ? concat(track.thread_name, ", overlapping ", lane) : track.thread_name);
      if (track.clock) made.text(descriptor::kDescription, concat("device clock: ", track.clock->text()));
    } else if (lane == 0) {
      thread.number(descriptor::kPid, process_id());
      thread.number(descriptor::kTid, static_cast<uint64_t>(track.thread_id));
      thread.text(descriptor::kThreadName, track.thread_name);
      made.message(descriptor::kThread, thread);
    } else {
      made.text(descriptor::kName, concat(track.thread_name, " ", track.thread_id, ", overlapping ", lane));
    }
    put(ProtoWriter().message(packet::kTrackDescriptor, made).number(packet::kSequenceId, sequence_));
  }

  // Begins the sequence: the clock of its packets, the track of its events, and the texts that all packets may need.
  void write_start(uint64_t first_ns, bool has_dropped) {
    ProtoWriter clocks, of_events, preset, texts, made;
    clocks.message(snapshot::kClocks, clock(kBootClock, first_ns));
    clocks.message(snapshot::kClocks, clock(kDeltaClock, first_ns, true));
    of_events.number(track_event::kTrackUuid, sequence_);
    preset.message(defaults::kTrackEvent, of_events).number(defaults::kTimestampClockId, kDeltaClock);
    for (size_t id = kOperator; id < std::size(kTrackCategories); ++id)
      texts.message(interned::kEventCategories, interned_text(id, kTrackCategories[id]));
    for (const auto &[id, name] :
         {std::pair(kShapes, "Input Dims"), std::pair(kOpen, "Open"), std::pair(kCallStack, "Call stack")})
      texts.message(interned::kAnnotationNames, interned_text(id, name));
    made.message(packet::kClockSnapshot, clocks).number(packet::kSequenceId, sequence_);
    made.number(packet::kSequenceFlags, kStateCleared).message(packet::kDefaults, preset);
    made.message(packet::kInternedData, texts);
    if (has_dropped) made.number(packet::kPreviousDropped, 1);
    put(made);
    last_ns_ = first_ns;
    names_.clear();
    text_names_.clear();
    num_names_ = 0;
    sources_.clear();
    strings_.clear();
    shapes_at_ = {};
  }
  static ProtoWriter interned_text(uint64_t id, std::string_view text) {
    ProtoWriter made;
    made.number(interned::kIid, id).text(interned::kText, text);
    return made;
  }

  void write_lane(const ThreadSpans &thread, uint32_t lane, uint64_t sequence) {
    sequence_ = sequence;
    write_track(*thread.track, lane);
    bool is_started = false;
    const auto start_at = [&](uint64_t now) {
      if (!std::exchange(is_started, true)) write_start(now, thread.track->dropped > 0);
    };
    auto launches = lane == 0 ? work_.of(*thread.track) : std::span<const Event *const>();
    const auto write_launches_before = [&](uint64_t tick) {
      for (; !launches.empty(); launches = launches.subspan(1)) {
        const uint64_t launched = device_work(*launches.front()).launched;
        if (launched >= tick) return;
        if (flows_.contains(launches.front())) continue;  // another track's: thread ids may be reused
        start_at(boot_ns(launched));
        write_launch(*launches.front(), boot_ns(launched));
      }
    };
    each_boundary(thread, lane, [&](const Span &span, bool is_begin) {
      const Event &event = *span.event;
      write_launches_before(is_begin ? event.begin : event.end + 1);
      const uint64_t now = boot_ns(is_begin ? event.begin : event.end);
      start_at(now);
      if (is_begin || (event.kind != EventKind::kMark && !event.is_open)) write_event(event, is_begin, now);
    });
    write_launches_before(UINT64_MAX);
  }

  // The events of all threads of the process, in the order of time.
  std::vector<const Event *> events_of_process(std::vector<const Event *> TraceTrack::*list) const {
    std::vector<const Event *> events;
    for (const TraceTrack &track : trace_.parts.tracks)
      if (track.process == place_) events.insert(events.end(), (track.*list).begin(), (track.*list).end());
    std::ranges::stable_sort(events, {}, &Event::begin);
    return events;
  }
  // Writes the totals of each device as two counters. Returns the number of the last track.
  uint64_t write_memory(uint64_t sequence) {
    const std::vector<const Event *> changes = events_of_process(&TraceTrack::memory);
    if (changes.empty()) return sequence - 1;
    sequence_ = sequence;
    std::unordered_map<uint64_t, uint64_t> tracks;  // key: the device; value: track of its first counter
    uint64_t free_track = sequence;
    ProtoWriter size_in_bytes;
    size_in_bytes.number(descriptor::kUnit, descriptor::kSizeBytes);
    write_start(boot_ns(changes[0]->begin), false);
    for (const Event *change : changes) {
      const DLDevice device = change->device;
      const auto [place, fresh] = tracks.try_emplace(std::bit_cast<uint64_t>(device), free_track + 1);
      if (fresh)
        for (const char *total : {": allocated", ": reserved"})
          write_counter_track(++free_track, concat("Memory of ", device_name(device), total), size_in_bytes);
      const uint64_t now = boot_ns(change->begin);
      write_count(place->second, memory_change(*change).allocated, now);
      write_count(place->second + 1, memory_change(*change).reserved, now);
    }
    return free_track;
  }
  // Writes values that collectors measured: a track for each name. Returns the number of the last track.
  uint64_t write_counters(uint64_t sequence) {
    const std::vector<const Event *> values = events_of_process(&TraceTrack::counters);
    if (values.empty()) return sequence - 1;
    sequence_ = sequence;
    std::unordered_map<NameId, uint64_t> tracks;
    write_start(boot_ns(values[0]->begin), false);
    for (const Event *value : values) {
      const auto [place, fresh] = tracks.try_emplace(value->name, sequence + tracks.size() + 1);
      if (fresh) write_counter_track(place->second, name_text(value->name), ProtoWriter());
      SmallProto event;
      event.number(track_event::kType, track_event::kCounter).number(track_event::kTrackUuid, place->second);
      event.fixed64(track_event::kDoubleCounterValue, std::bit_cast<uint64_t>(counter_value(*value)));
      write_packet(event, boot_ns(value->begin));
    }
    return sequence + tracks.size();
  }
  void write_counter_track(uint64_t uuid, std::string_view name, const ProtoWriter &counter) {
    ProtoWriter made;
    made.number(descriptor::kUuid, uuid).number(descriptor::kParentUuid, process_track_).text(descriptor::kName, name);
    made.message(descriptor::kCounter, counter);
    put(ProtoWriter().message(packet::kTrackDescriptor, made).number(packet::kSequenceId, sequence_));
  }
  void write_count(uint64_t track, uint64_t count, uint64_t now) {
    SmallProto event;
    event.number(track_event::kType, track_event::kCounter).number(track_event::kTrackUuid, track);
    write_packet(event.number(track_event::kCounterValue, count), now);
  }

  void write_event(const Event &event, bool is_begin, uint64_t now) {
    write_packet(is_begin ? described(event) : SmallProto().number(track_event::kType, track_event::kSliceEnd), now);
  }
  // Writes the moment at which the thread submitted the work to the device. A flow, which viewers draw as an arrow,
  // leads from there to the work.
  void write_launch(const Event &work, uint64_t now) {
    SmallProto made;
    made.number(track_event::kType, track_event::kInstant).number(track_event::kCategoryIids, kLaunch);
    made.number(track_event::kNameIid, name_of_text(work_text(device_work(work).kind).launch));
    const uint64_t flow = flows_.try_emplace(&work, flows_.size() + 1).first->second;
    write_packet(made.fixed64(track_event::kFlowIds, flow), now);
  }

  void write_packet(const SmallProto &event, uint64_t now) {
    SmallProto packet;
    packet.number(packet::kTimestamp, now > last_ns_ ? now - last_ns_ : 0);
    packet.number(packet::kSequenceId, sequence_).number(packet::kSequenceFlags, kNeedsState);
    packet.message(packet::kTrackEvent, event);
    last_ns_ = std::max(last_ns_, now);
    if (texts_.str().empty()) return put_bytes(packet.str());
    const ProtoWriter texts = std::exchange(texts_, {});
    put_bytes(std::string(packet.str()) + ProtoWriter().message(packet::kInternedData, texts).str());
  }

  SmallProto described(const Event &event) {
    SmallProto made;
    const bool is_mark = event.kind == EventKind::kMark;
    made.number(track_event::kType, is_mark ? track_event::kInstant : track_event::kSliceBegin);
    made.number(track_event::kCategoryIids, category_of(event));
    made.number(track_event::kNameIid, name_of(event));
    if (num_tensors(event)) annotate(made, kShapes, annotation::kStringValueIid, shapes_of(event));
    // If nothing else of the launching thread was recorded, the thread has no track, and the flow has no begin.
    if (event.kind == EventKind::kDeviceWork)
      if (const auto flow = flows_.find(&event); flow != flows_.end())
        made.fixed64(track_event::kTerminatingFlowIds, flow->second);
    if (const HostStacks::StackNumber stack = host_.number_of(event, place_)) describe_stack(stack, made);
    if (event.is_open) annotate(made, kOpen, annotation::kIntValue, 1);
    return made;
  }
  static void annotate(SmallProto &event, Annotation name, uint32_t field, uint64_t value) {
    SmallProto made;
    made.number(annotation::kNameIid, name).number(field, value);
    event.message(track_event::kDebugAnnotations, made);
  }

  static EventCategory category_of(const Event &event) {
    if (event.kind == EventKind::kDeviceWork) return kOfWork[static_cast<size_t>(device_work(event).kind)];
    return event.kind == EventKind::kCall ? kOperator : event.kind == EventKind::kTask ? kTaskOfLoop : kUser;
  }
  uint64_t name_of(const Event &event) {
    if (event.kind == EventKind::kTask) return name_of_text(loop_names_.of(event, place_));
    const auto [place, fresh] = names_.try_emplace(span_key(event), num_names_ + 1);
    if (fresh) ++num_names_, texts_.message(interned::kEventNames, interned_text(place->second, span_name(event)));
    return place->second;
  }
  uint64_t name_of_text(const std::string &name) {
    const auto [place, fresh] = text_names_.try_emplace(name, 0);
    if (fresh) {
      place->second = ++num_names_;
      texts_.message(interned::kEventNames, interned_text(place->second, place->first));
    }
    return place->second;
  }

  uint64_t shapes_of(const Event &event) {
    return shapes_at_.of(event, [this](const Event &first) { return string_of(shapes_text(first)); });
  }
  uint64_t string_of(const std::string &text) {
    const auto [place, fresh] = strings_.try_emplace(text, strings_.size() + 1);
    if (fresh) texts_.message(interned::kAnnotationStrings, interned_text(place->second, place->first));
    return place->second;
  }

  // Writes the innermost function of the host as the source location, and all functions as a text.
  void describe_stack(HostStacks::StackNumber stack, SmallProto &made) {
    const HostStacks::Frames &frames = host_.frames_of(stack);
    if (frames.empty()) return;
    annotate(made, kCallStack, annotation::kStringValueIid, string_of(host_.call_stack(stack)));
    made.number(track_event::kSourceIid, source_of(frames[0]));
  }
  uint64_t source_of(HostStacks::FrameNumber number) {
    const auto [place, fresh] = sources_.try_emplace(number, sources_.size() + 1);
    if (!fresh) return place->second;
    const HostFrame &frame = host_.frame(number);
    ProtoWriter source;
    source.number(source::kIid, place->second).text(source::kFile, frame.file);
    source.text(source::kFunction, frame.function).number(source::kLine, frame.line);
    texts_.message(interned::kSources, source);
    return place->second;
  }

  const Trace &trace_;
  HostStacks host_;
  LoopNames loop_names_;
  const GivenWork work_{trace_};
  std::unordered_map<const Event *, uint64_t> flows_;  // key: the work; value: number of the flow that leads to it
  ByteSink &sink_;
  const std::vector<int64_t> ids_ = trace_.parts.distinct_ids();
  int64_t boot_unix_ns_;                   // Unix time at time 0 of the file
  const TraceProcess *process_ = nullptr;  // the current process, its index and its track
  uint32_t place_ = 0;
  uint64_t process_track_ = 0;
  ProtoWriter file_;   // the current piece of the file
  ProtoWriter texts_;  // texts that are new with the current event
  // The members below are for the current track.
  uint64_t sequence_ = 0, last_ns_ = 0;
  uint64_t num_names_ = 0;  // numbers for both kinds of names
  std::unordered_map<uint64_t, uint64_t> names_;
  std::unordered_map<std::string, uint64_t> text_names_;
  std::unordered_map<HostStacks::FrameNumber, uint64_t> sources_;
  std::unordered_map<std::string, uint64_t> strings_;
  ShapeCache<uint64_t> shapes_at_;
};

}  // namespace

void write_perfetto(const Trace &trace, ByteSink &out) { PerfettoWriter(trace, out).write(); }

}  // namespace opd
