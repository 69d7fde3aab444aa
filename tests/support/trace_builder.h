// Traces made by hand: calls and runs at given ticks, on a track of the calling thread that no recording knows.
#pragma once
#include "trace/model/trace.h"
#include "trace/record/track.h"

namespace opd {

class TraceBuilder {
 public:
  explicit TraceBuilder(uint64_t max_calls = 1 << 20) { track_.open_part(0, 1, {.max_calls = max_calls}); }

  struct Call {
    uint64_t begin, end;
    NameId name;
    uint64_t run = 1;
    uint32_t location = Event::kNoLocation, depth = 0;
  };
  TraceBuilder &call(const Call &call, Args args, size_t cache = 0, const EventItems &items = {}) {
    Event *event = track_.describe(1, 1, args, cache);
    if (!event) return *this;
    event->begin = call.begin, event->end = call.end;
    event->name = call.name, event->run = call.run;
    event->location = call.location, event->depth = call.depth;
    track_.attach(event, items);
    track_.commit();
    return *this;
  }
  TraceBuilder &run(uint64_t number, uint64_t begin, uint64_t end, NameId name, const EventItems &items = {},
                    uint64_t parent = 0, NameId program = 0) {
    Event event{};
    event.begin = begin, event.end = end;
    event.name = name, event.kind = EventKind::kRun, event.recordings = 1;
    event.run = number, event.parent_run = parent, event.location = program;
    track_.add_run(event, items);
    return *this;
  }

  TraceBuilder &range(uint64_t begin, uint64_t end, const char *name, EventKind kind = EventKind::kRange,
                      uint64_t number = 0) {
    Event *event = track_.describe(1, 1, {}, 0);
    if (!event) return *this;
    event->begin = begin, event->end = end;
    event->name = name ? name_id(name) : kNoName, event->kind = kind, event->run = number;
    track_.commit();
    return *this;
  }

  TraceBuilder &memory(EventKind kind, uint64_t tick, DLDevice device, const MemoryChange &change,
                       NameId use = kNoName) {
    Event *event = track_.describe(1);
    if (!event) return *this;
    event->begin = event->end = tick;
    event->kind = kind, event->name = use, event->device = device;
    set_memory_change(*event, change);
    track_.commit();
    return *this;
  }

  TraceTrack track(int64_t thread_id = 42, std::string thread_name = "main") {
    TraceTrack made;
    made.thread_id = thread_id;
    made.thread_name = std::move(thread_name);
    made.dropped = track_.part(0).dropped;
    made.add_events(track_.chunks_from(0), 0, {.recordings = 1});
    return made;
  }
  TraceParts parts(ClockCalibration line, int64_t thread_id = 42, std::string thread_name = "main") {
    TraceParts made;
    made.tracks.push_back(track(thread_id, std::move(thread_name)));
    made.processes[0].line = line;
    made.processes[0].recordings = 1;
    return made;
  }

 private:
  Track track_;
};

inline constexpr ClockCalibration kNanoseconds{{0, 0}, 1};  // ticks are nanoseconds

inline Ref<Trace> trace_of(TraceParts parts) { return make_object<Trace>(std::move(parts)); }
inline Ref<Trace> trace_of(TraceBuilder &built) { return trace_of(built.parts(kNanoseconds)); }

}  // namespace opd
