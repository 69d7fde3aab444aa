#include "trace/model/trace.h"

#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_set>

#include "value/dtype.h"
#include "value/tensor.h"

namespace opd {

// ---- the process

namespace {

std::string first_line(const char *path) {
  const std::string text = small_file(path);
  return text.substr(0, text.find('\n'));
}

struct Machine {
  std::string host, clock;

  static const Machine &get() {
    static const auto *machine = new Machine;  // never destroyed: threads may make traces while the process exits
    return *machine;
  }

 private:
  // Each boot has its own id. A time namespace may shift the clock.
  Machine() {
    char text[256] = "";
    if (::gethostname(text, sizeof text - 1) == 0) host = text;
    clock = first_line("/proc/sys/kernel/random/boot_id");
    const ssize_t length = ::readlink("/proc/self/ns/time", text, sizeof text);
    if (!clock.empty() && length > 0) clock += concat(" ", std::string_view(text, static_cast<size_t>(length)));
  }
};

// The error bound of the system's Unix clock, if NTP synchronises it; else -1.
int64_t unix_error_ns() {
  timex answer{};
  const int state = ::adjtimex(&answer);
  return state < 0 || state == TIME_ERROR || answer.maxerror < 0 ? -1 : int64_t{answer.maxerror} * 1000;
}

}  // namespace

std::string small_file(const char *path) {
  std::string text(4096, '\0');
  FILE *const file = std::fopen(path, "re");
  text.resize(file ? std::fread(text.data(), 1, text.size(), file) : 0);
  if (file) std::fclose(file);
  return text;
}

TraceProcess TraceProcess::of_this() {
  TraceProcess made;
  made.id = ::getpid();
  made.name = first_line("/proc/self/comm");
  made.host = Machine::get().host;
  made.clock_name = Machine::get().clock;
  made.unix_offset_ns = realtime_offset_ns();
  made.clock_error_ns = unix_error_ns();
  return made;
}

// Whole nanoseconds are added as integers, because a double loses digits after an uptime of 104 days.
int64_t TraceProcess::unix_ns(uint64_t ticks) const {
  const double ns = static_cast<double>(static_cast<int64_t>(ticks - line.anchor.ticks)) * line.ns_per_tick;
  const int64_t whole = ns < 0 ? -static_cast<int64_t>(0.5 - ns) : static_cast<int64_t>(ns + 0.5);
  return static_cast<int64_t>(line.anchor.ns) + whole + unix_offset_ns + shift_ns;
}

int64_t realtime_offset_ns() {
  const uint64_t now = clock_ns(CLOCK_REALTIME);
  return static_cast<int64_t>(now - monotonic_ns());
}

// ---- tracks

std::vector<const Event *> &TraceTrack::list_of(EventKind kind) {
  using Track = TraceTrack;
  static constexpr std::array kLists{&Track::calls,  &Track::runs,        &Track::ranges, &Track::ranges,
                                     &Track::ranges, &Track::memory,      &Track::memory, &Track::tasks,
                                     &Track::binds,  &Track::device_work, &Track::clocks, &Track::counters};
  static_assert(kLists.size() == static_cast<size_t>(kLastEventKind) + 1);
  return this->*kLists[static_cast<size_t>(kind)];
}

uint64_t TraceTrack::add_events(std::vector<std::shared_ptr<Chunk>> from, uint64_t first, const EventFilter &filter) {
  for (auto &chunk : from) {
    const uint32_t count = chunk->count.load(std::memory_order_acquire);
    for (uint32_t i = static_cast<uint32_t>(first > chunk->first ? first - chunk->first : 0); i < count; ++i) {
      const Event *const event = chunk->event(i);
      if (filter.takes(*event)) list_of(event->kind).push_back(event);
    }
    first = std::max(first, chunk->first + count);
    chunks.push_back(std::move(chunk));
  }
  return first;
}

void TraceTrack::add_copies(const std::vector<Event> &events) {
  constexpr size_t kMost = 512;  // in one chunk
  for (size_t first = 0; first < events.size(); first += kMost) {
    auto chunk = Chunk::make(chunks.empty() ? 0 : chunks.back()->first + chunks.back()->count.load());
    uint32_t count = 0;
    for (const Event &event : std::span(events).subspan(first, std::min(kMost, events.size() - first))) {
      *chunk->event(count) = event;
      list_of(event.kind).push_back(chunk->event(count++));
    }
    chunk->count.store(count);
    chunks.push_back(std::move(chunk));
  }
}

void TraceParts::return_ranges() {
  std::map<std::pair<uint32_t, int64_t>, std::vector<Event>> returned;  // by process and thread
  for (TraceTrack &track : tracks)
    std::erase_if(track.ranges, [&](const Event *range) {
      const int64_t beginner = beginner_of(*range);
      if (beginner == 0 || range->kind != EventKind::kRange) return false;
      Event &copy = returned[{track.process, beginner}].emplace_back(*range);
      copy.device.device_id = 0;
      return true;
    });
  for (auto &each : returned) {  // clang 14 cannot capture structured bindings
    const auto &thread = each.first;
    std::vector<Event> &ranges = each.second;
    const auto is_its = [&](const TraceTrack &track) {
      return std::pair(track.process, track.thread_id) == thread && !track.device;
    };
    auto track = std::ranges::find_if(tracks, is_its);
    if (track == tracks.end()) {  // the thread has no other events
      track = tracks.emplace(tracks.end());
      track->process = thread.first, track->thread_id = thread.second;
    }
    // A file may still show such a range as open, if its thread has added nothing since.
    std::ranges::sort(ranges, {}, &Event::begin);
    std::erase_if(track->ranges, [&](const Event *range) {
      return range->is_open && std::ranges::binary_search(ranges, range->begin, {}, &Event::begin);
    });
    std::ranges::stable_sort(ranges, {}, &Event::end);
    track->add_copies(ranges);
    std::ranges::stable_sort(track->ranges, {}, &Event::end);
  }
}

void TraceParts::finish_tracks(const char *name_of_lost, uint64_t lost) {
  TraceTrack &track = tracks.emplace_back();
  track.thread_name = name_of_lost;
  track.dropped = lost;
  std::erase_if(tracks, [](const TraceTrack &each) { return each.is_empty(); });
}

void TraceParts::drop_before(uint64_t tick) {
  for (TraceTrack &track : tracks)
    for (auto *list : track.lists()) {
      const auto is_earlier = [tick](const Event *event) { return event->end < tick; };
      if (list == &track.device_work) std::erase_if(*list, is_earlier);  // streams end in any order
      else list->erase(list->begin(), std::ranges::partition_point(*list, is_earlier));
    }
  std::erase_if(tracks, [](const TraceTrack &track) { return track.is_empty(); });
}

void TraceParts::drop_after(uint64_t tick) {
  const auto is_later = [tick](const Event *event) {
    if (event->kind == EventKind::kDeviceWork) return device_work(*event).launched > tick;
    const bool may_go_on =
        event->kind == EventKind::kRun || event->kind == EventKind::kRange || event->kind == EventKind::kStep;
    return (may_go_on ? event->begin : event->end) > tick;
  };
  for (TraceTrack &track : tracks)
    for (auto *list : track.lists()) std::erase_if(*list, is_later);
  std::erase_if(tracks, [](const TraceTrack &track) { return track.is_empty(); });
}

namespace {
using DeviceOfProcess = std::tuple<uint32_t, int32_t, int32_t>;  // process; kind and number of the device

// `moments` has at least one moment, and all belong to one device.
ClockRelation relation_of(std::vector<DeviceMoment> moments, const TraceProcess &process) {
  constexpr double kMostDriftError = 50;  // ppm; real clocks drift by less, so a larger error bound says little
  std::ranges::stable_sort(moments, {}, &DeviceMoment::ticks);
  ClockRelation made;
  made.method = moments.back().method;
  uint64_t most = 0;
  for (const DeviceMoment &moment : moments) most = std::max(most, moment.error_ns);
  if (most != DeviceMoment::kNotKnown) made.error_ns = static_cast<int64_t>(most);
  const auto offset = [&](const DeviceMoment &moment) {
    return static_cast<int64_t>(process.line.ns_of(moment.ticks)) - static_cast<int64_t>(moment.device_ns);
  };
  const DeviceMoment &first = moments.front(), &last = moments.back();
  if (last.device_ns == DeviceMoment::kNotKnown) return made;
  made.offset_ns = offset(last);
  if (first.device_ns == DeviceMoment::kNotKnown || !made.error_ns) return made;
  const double ns = process.line.duration_ns(last.ticks - first.ticks);
  const double error = static_cast<double>(first.error_ns + last.error_ns) / ns * 1e6;
  if (ns > 0 && error <= kMostDriftError)
    made.drift = {static_cast<double>(offset(first) - offset(last)) / ns * 1e6, error};
  return made;
}

std::map<DeviceOfProcess, ClockRelation> take_clocks(TraceParts &parts) {
  std::map<DeviceOfProcess, std::vector<DeviceMoment>> moments;
  for (TraceTrack &track : parts.tracks)
    for (const Event *event : std::exchange(track.clocks, {}))
      moments[{track.process, event->device.device_type, event->device.device_id}].push_back(device_moment(*event));
  std::map<DeviceOfProcess, ClockRelation> made;
  for (auto &[device, of_it] : moments)
    made.emplace(device, relation_of(std::move(of_it), parts.processes[std::get<0>(device)]));
  return made;
}
}  // namespace

std::string ClockRelation::text() const {
  std::string made = name_text(method);
  made += error_ns ? concat(", error ", *error_ns, " ns") : std::string(", error not known");
  made += offset_ns ? concat(", offset ", *offset_ns, " ns") : std::string(", offset not known");
  if (!drift) return made + ", drift not known";
  made += ", drift ";
  append_fixed(made, drift->ppm, 2);
  made += " ppm within ";
  append_fixed(made, drift->error_ppm, 2);
  return made + " ppm";
}

void TraceParts::divide_device_work() {
  using Stream = std::tuple<uint32_t, int32_t, int32_t, uint16_t>;  // process; kind and number of the device; stream
  std::map<Stream, TraceTrack> streams;
  for (TraceTrack &track : tracks) {
    if (track.device) continue;
    for (const Event *event : track.device_work) {
      const Stream key{track.process, event->device.device_type, event->device.device_id, device_work(*event).stream};
      TraceTrack &stream = streams[key];
      if (stream.device_work.empty() || stream.chunks.back() != track.chunks.back())
        stream.chunks.insert(stream.chunks.end(), track.chunks.begin(), track.chunks.end());
      stream.device_work.push_back(event);
    }
    track.device_work.clear();
  }
  const auto clocks = take_clocks(*this);
  std::erase_if(tracks, [](const TraceTrack &track) { return track.is_empty(); });
  constexpr int64_t kFirstId = int64_t{1} << 23;  // Linux's thread ids are below 2^22
  int64_t id = kFirstId;
  for (auto &[key, stream] : streams) {
    const auto [process, type, number, place] = key;
    stream.process = process, stream.stream = place, stream.thread_id = id++;
    stream.device = DLDevice{static_cast<DLDeviceType>(type), number};
    if (const auto clock = clocks.find({process, type, number}); clock != clocks.end()) stream.clock = clock->second;
    const std::string device = concat(device_kind_name(type), ":", number);
    stream.thread_name = place == kOverheadStream ? concat(device, ", overhead")
                         : place                  ? concat(device, ", stream ", place)
                                                  : concat(device, ", default stream");
    std::ranges::stable_sort(stream.device_work, {}, &Event::end);
    tracks.push_back(std::move(stream));
  }
}

std::vector<const TraceTrack *> TraceParts::tracks_with_clocks() const {
  std::vector<const TraceTrack *> found;
  for (const TraceTrack &track : tracks) {
    const auto is_same = [&](const TraceTrack *other) {
      return other->process == track.process && same(*other->device, *track.device);
    };
    if (track.device && track.clock && std::ranges::none_of(found, is_same)) found.push_back(&track);
  }
  return found;
}

std::string TraceParts::titles() const {
  constexpr size_t kMost = 4;
  std::string joined;
  for (size_t i = 0; i < std::min(processes.size(), kMost); ++i) joined += concat(i ? ", " : "", processes[i].title());
  return processes.size() > kMost ? concat(joined, " and ", processes.size() - kMost, " more") : joined;
}

std::vector<int64_t> TraceParts::distinct_ids() const {
  constexpr int64_t kStep = 10'000'000;  // Linux's process ids are below 2^22
  std::vector<int64_t> found;
  std::unordered_set<int64_t> taken;
  for (const TraceProcess &process : processes) {
    int64_t id = process.id;
    while (!taken.insert(id).second) id += kStep;
    found.push_back(id);
  }
  return found;
}

namespace {
TraceParts divided(TraceParts parts) {
  parts.return_ranges();
  parts.divide_device_work();
  return parts;
}
}  // namespace

Trace::Trace(TraceParts p) : parts(divided(std::move(p))) { number_runs(); }

size_t Trace::num_calls() const {
  size_t calls = 0;
  for (const auto &track : parts.tracks) calls += track.calls.size();
  return calls;
}

size_t Trace::num_spans() const {
  size_t others = 0;
  for (const auto &track : parts.tracks) others += track.runs.size() + track.ranges.size();
  return num_calls() + others;
}

namespace {
// The best `tick` among the events, as Unix time.
template <class Compare>
std::optional<int64_t> best_ns(const TraceParts &parts, uint64_t Event::*tick, const Compare &is_better) {
  std::optional<int64_t> best;
  for (const TraceTrack &track : parts.tracks) {
    const Event *found = nullptr;
    for (const auto *list : track.lists())
      for (const Event *event : *list)
        if (!found || is_better(event->*tick, found->*tick)) found = event;
    if (!found) continue;
    const int64_t ns = parts.process_of(track).unix_ns(found->*tick);
    if (!best || is_better(ns, *best)) best = ns;
  }
  return best;
}
}  // namespace

std::optional<int64_t> Trace::first_ns() const { return best_ns(parts, &Event::begin, std::less()); }
std::optional<int64_t> Trace::last_ns() const { return best_ns(parts, &Event::end, std::greater()); }

uint64_t Trace::num_dropped() const {
  uint64_t dropped = 0;
  for (const auto &track : parts.tracks) dropped += track.dropped;
  return dropped;
}

// Runs are numbered in the process when they begin, so an outer run has a lower number than those within it.
void Trace::number_runs() {
  struct Run {
    uint64_t process;
    const Event *event;
  };
  std::vector<Run> found;
  for (const auto &track : parts.tracks)
    for (const Event *run : track.runs) found.push_back({track.process, run});
  std::ranges::sort(found, {}, [](const Run &run) { return std::pair(run.process, run.event->run); });
  for (const auto &[process, event] : found) {
    const RunNumber *const outer = find_run(process, event->parent_run);
    runs_.push_back({process, event->run, outer ? outer->number : num_runs_, !outer});
    if (runs_.back().is_outermost) ++num_runs_;
  }
}

const Trace::RunNumber *Trace::find_run(uint64_t process, uint64_t run) const {
  const auto key = [](const RunNumber &each) { return std::pair(each.process, each.run); };
  const auto found = std::ranges::lower_bound(runs_, std::pair(process, run), {}, key);
  return found != runs_.end() && key(*found) == std::pair(process, run) ? &*found : nullptr;
}

}  // namespace opd
