#include "trace/trace.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace opd {
namespace {

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

std::vector<const Event *> &TraceTrack::list_of(EventKind kind) {
  switch (kind) {
    case EventKind::kRun:
      return runs;
    case EventKind::kCall:
      return calls;
    case EventKind::kAlloc:
    case EventKind::kFree:
      return memory;
    default:
      return ranges;
  }
}

void TraceTrack::add_events(std::vector<std::shared_ptr<Chunk>> from, uint64_t first, Recordings recordings) {
  for (auto &chunk : from) {
    const uint32_t count = chunk->count.load(std::memory_order_acquire);
    for (uint32_t i = static_cast<uint32_t>(first > chunk->first ? first - chunk->first : 0); i < count; ++i) {
      const Event *const event = chunk->event(i);
      if (event->recordings & recordings) list_of(event->kind).push_back(event);
    }
    chunks.push_back(std::move(chunk));
  }
}

void TraceTrack::add_open(std::span<const Event> open) {
  if (open.empty()) return;
  auto chunk = Chunk::make(chunks.empty() ? 0 : chunks.back()->first + chunks.back()->count.load());
  uint32_t count = 0;
  for (size_t i = open.size(); i-- > 0; ++count) {  // by their ends, as all events
    *chunk->event(count) = open[i];
    list_of(open[i].kind).push_back(chunk->event(count));
  }
  chunk->count.store(count);
  chunks.push_back(std::move(chunk));
}

void TraceParts::describe_process() {
  process_id = ::getpid();
  process_name = trimmed_file("/proc/self/comm");
  unix_offset_ns = realtime_offset_ns();
}

// Whole nanoseconds are added as integers: a double of them would lose digits after 104 days without a restart.
int64_t TraceParts::unix_ns(uint64_t ticks) const {
  const double ns = static_cast<double>(static_cast<int64_t>(ticks - line.anchor.ticks)) * line.ns_per_tick;
  const int64_t whole = ns < 0 ? -static_cast<int64_t>(0.5 - ns) : static_cast<int64_t>(ns + 0.5);
  return static_cast<int64_t>(line.anchor.ns) + whole + unix_offset_ns;
}

int32_t Trace::type() {
  static const int32_t index = register_type("opdyno.Trace");
  return index;
}

size_t Trace::num_calls() const {
  size_t calls = 0;
  for (const auto &track : parts.tracks) calls += track.calls.size();
  return calls;
}

uint64_t Trace::first_tick() const {
  uint64_t first = UINT64_MAX;
  for (const auto &track : parts.tracks)
    for (const auto *list :
         {&track.runs, &track.ranges, &track.calls, &track.memory})  // they are in the order of their ends
      for (const Event *event : *list) first = std::min(first, event->begin);
  return first;
}

uint64_t Trace::last_tick() const {
  uint64_t last = 0;
  for (const auto &track : parts.tracks)
    for (const auto *list : {&track.runs, &track.ranges, &track.calls, &track.memory})
      for (const Event *event : *list) last = std::max(last, event->end);
  return last;
}

uint64_t Trace::num_dropped() const {
  uint64_t dropped = 0;
  for (const auto &track : parts.tracks) dropped += track.dropped;
  return dropped;
}

// Runs are numbered in the process when they begin, so an outer run has a lower number than those within it.
void Trace::number_runs() {
  std::vector<const Event *> events;
  for (const auto &track : parts.tracks) events.insert(events.end(), track.runs.begin(), track.runs.end());
  std::ranges::sort(events, {}, &Event::run);
  for (const Event *event : events) {
    runs_.push_back({event->run, num_runs_, true});
    const auto outer = std::ranges::lower_bound(runs_.begin(), runs_.end() - 1, event->parent_run, {}, &RunNumber::run);
    if (outer != runs_.end() - 1 && outer->run == event->parent_run)
      runs_.back().number = outer->number, runs_.back().is_outermost = false;
    else ++num_runs_;
  }
}

const Trace::RunNumber *Trace::run_of(const Event &event) const {
  const auto found = std::ranges::lower_bound(runs_, event.run, {}, &RunNumber::run);
  return found != runs_.end() && found->run == event.run ? &*found : nullptr;
}

int64_t realtime_offset_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - static_cast<int64_t>(monotonic_ns());
}

}  // namespace opd
