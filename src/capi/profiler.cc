// include/opdyno/profiler.h
#include "profiler/profiler.h"

#include "capi/handles.h"

using namespace opd;

opd_error *opd_profiler_create(const opd_profiler_options *options, opd_profiler **out_profiler) {
  return guard([&] {
    require(out_profiler, "out_profiler must not be NULL");
    const opd_profiler_options how = read_options(options, opd_profiler_options_init);
    require(how.all_calls == 0 || how.all_calls == 1, "all_calls must be 0 or 1, but is ", how.all_calls);
    RecordingOptions recording;
    recording.max_calls = how.max_events;
    recording.all_calls = how.all_calls != 0;
    recording.ranges = true;
    *out_profiler = wrap<opd_profiler>(make_object<Profiler>(recording));
  });
}

opd_error *opd_profiler_start(opd_profiler *profiler) {
  return guard([&] {
    require(profiler, "profiler must not be NULL");
    unwrap<Profiler>(profiler)->start();
  });
}

opd_error *opd_profiler_stop(opd_profiler *profiler, opd_trace **out_trace) {
  return guard([&] {
    require(profiler && out_trace, "profiler and out_trace must not be NULL");
    *out_trace = wrap<opd_trace>(unwrap<Profiler>(profiler)->stop());
  });
}

// Without memory, the range has no name.
uint32_t opd_range_name(const char *name) try { return name_id(name ? name : ""); } catch (const std::bad_alloc &) {
  return kNoName;
}
uint64_t opd_range_begin(void) { return begin_range(); }
void opd_range_end(uint64_t begin, uint32_t name) {
  if (begin) end_range(begin, name);
}
