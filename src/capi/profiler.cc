// Implements include/opdyno/profiler.h.
#include "profiler/profiler.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "capi/handles.h"
#include "capi/trace_write.h"
#include "device/device.h"
#include "trace/record/alarm.h"
#include "trace/record/ranges.h"

using namespace opd;

namespace {

// The program may change its working directory before the file is written or removed.
std::string absolute_path(const char *path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.string();
}

DumpOptions dump_options(const opd_profiler_dump_options &how) {
  require(how.path && *how.path, "dumps need a path");
  require(how.on_error == 0 || how.on_error == 1, "on_error must be 0 or 1, but is ", how.on_error);
  require(how.format >= OPD_TRACE_CHROME && how.format <= OPD_TRACE_MEMORY_TIMELINE_HTML,
          "format must be a form of traces, but is ", static_cast<int>(how.format));
  if (how.signal) check_alarm_signal(how.signal);
  return {.path = absolute_path(how.path),
          .form = how.format,
          .write = write_trace,
          .on_error = how.on_error != 0,
          .signal = how.signal,
          .slow_ns = how.slow_ns,
          .min_interval_ns = how.min_interval_ns,
          .most = how.max_dumps};
}

}  // namespace

opd_error *opd_profiler_create(const opd_profiler_options *options, opd_profiler **out_profiler) {
  return guard([&] {
    OPD_REQUIRE(out_profiler);
    const opd_profiler_options how = read_options(options, opd_profiler_options_init);
    require(how.all_calls == 0 || how.all_calls == 1, "all_calls must be 0 or 1, but is ", how.all_calls);
    require(how.profile_memory == 0 || how.profile_memory == 1, "profile_memory must be 0 or 1, but is ",
            how.profile_memory);
    require(how.with_stack == 0 || how.with_stack == 1, "with_stack must be 0 or 1, but is ", how.with_stack);
    RecordingOptions recording;
    recording.max_calls = how.max_events;
    recording.all_calls = how.all_calls != 0;
    recording.ranges = true;
    recording.memory = how.profile_memory != 0;
    require(how.parallel_tasks == 0 || how.parallel_tasks == 1, "parallel_tasks must be 0 or 1, but is ",
            how.parallel_tasks);
    recording.tasks = how.parallel_tasks != 0;
    require(how.device_work >= 0 && how.device_work <= 2, "device_work must be 0, 1 or 2, but is ", how.device_work);
    require(how.reserved == 0, "reserved must be 0, but is ", how.reserved);
    recording.device_work = how.device_work != 0;
    recording.stacks = how.with_stack != 0;
    recording.waits = false;
    require(how.buffer == OPD_PROFILER_KEEP_FIRST || how.buffer == OPD_PROFILER_KEEP_LAST,
            "buffer must be a kind of buffer, but is ", static_cast<int>(how.buffer));
    require(how.keep_in_file == 0 || how.keep_in_file == 1, "keep_in_file must be 0 or 1, but is ", how.keep_in_file);
    require(!how.keep_in_file || how.file, "keep_in_file needs a file");
    recording.reads_file = how.keep_in_file == 0;
    require(!how.flush_interval_ns || how.file, "flush_interval_ns needs a file");
    constexpr uint64_t kLongest = 86'400'000'000'000;
    require(how.flush_interval_ns <= kLongest, "flush_interval_ns must be at most ", kLongest,
            ", which is a day, but is ", how.flush_interval_ns);
    recording.flush_interval_ns = how.flush_interval_ns;
    recording.overwrites = how.buffer == OPD_PROFILER_KEEP_LAST;
    recording.max_bytes = how.max_bytes == 0 && recording.overwrites ? uint64_t{64} << 20 : how.max_bytes;
    recording.last_ns = how.last_ns;
    if (how.file) {
      require(*how.file, "file must not be empty");
      recording.file = absolute_path(how.file);
    }
    if (how.file || recording.overwrites) recording.max_calls = UINT64_MAX;
    require(how.skip_first_wait == 0 || how.skip_first_wait == 1, "skip_first_wait must be 0 or 1, but is ",
            how.skip_first_wait);
    constexpr uint64_t kMost = uint64_t{1} << 48;  // keeps sums from wrapping
    for (const auto &[name, steps] : {std::pair("wait", how.wait), std::pair("warmup", how.warmup),
                                      std::pair("active", how.active), std::pair("skip_first", how.skip_first)})
      require(steps <= kMost, name, " is ", steps, "; a schedule has at most 2^48 steps");
    require(how.active || !(how.wait || how.warmup || how.repeat || how.skip_first || how.skip_first_wait),
            "a schedule needs at least one active step");
    const Schedule schedule{how.wait, how.warmup, how.active, how.repeat, how.skip_first, how.skip_first_wait != 0};
    *out_profiler = wrap<opd_profiler>(
        make_object<Profiler>(recording, schedule, how.device_work == 2 ? &reported_activity() : nullptr));
  });
}

opd_error *opd_profiler_start(opd_profiler *profiler) {
  return guard([&] {
    OPD_REQUIRE(profiler);
    unwrap<Profiler>(profiler)->start();
  });
}

opd_error *opd_profiler_set_action(opd_profiler *profiler, opd_profiler_action action) {
  return guard([&] {
    OPD_REQUIRE(profiler);
    require(action >= OPD_PROFILER_NONE && action <= OPD_PROFILER_RECORD_AND_SAVE,
            "action must be an action of profilers, but is ", static_cast<int>(action));
    unwrap<Profiler>(profiler)->set_action(static_cast<ProfilerAction>(action));
  });
}

opd_error *opd_profiler_step(opd_profiler *profiler, opd_trace **out_trace) {
  return guard([&] {
    OPD_REQUIRE(profiler, out_trace);
    *out_trace = wrap<opd_trace>(unwrap<Profiler>(profiler)->step());
  });
}

opd_error *opd_profiler_stop(opd_profiler *profiler, opd_trace **out_trace) {
  return guard([&] {
    OPD_REQUIRE(profiler, out_trace);
    *out_trace = wrap<opd_trace>(unwrap<Profiler>(profiler)->stop());
  });
}

opd_error *opd_profiler_snapshot(opd_profiler *profiler, opd_trace **out_trace) {
  return guard([&] {
    OPD_REQUIRE(profiler, out_trace);
    *out_trace = wrap<opd_trace>(unwrap<Profiler>(profiler)->snapshot());
  });
}

opd_error *opd_profiler_set_dumps(opd_profiler *profiler, const opd_profiler_dump_options *options) {
  return guard([&] {
    OPD_REQUIRE(profiler);
    std::optional<DumpOptions> dumps;
    if (options) dumps = dump_options(read_options(options, opd_profiler_dump_options_init));
    unwrap<Profiler>(profiler)->set_dumps(std::move(dumps));
  });
}

opd_error *opd_profiler_dump(opd_profiler *profiler, const char *reason) {
  return guard([&] {
    OPD_REQUIRE(profiler);
    unwrap<Profiler>(profiler)->dump(reason ? reason : "");
  });
}

uint64_t opd_profiler_dump_count(const opd_profiler *profiler) {
  return profiler ? unwrap<Profiler>(profiler)->num_dumps() : 0;
}

// If memory cannot be allocated, the range has no name.
uint32_t opd_range_name(const char *name) try { return name_id(name ? name : ""); } catch (const std::bad_alloc &) {
  return kNoName;
}
int32_t opd_range_is_recorded(void) { return is_recording(Interest::kRanges); }
uint64_t opd_range_begin(uint32_t name) { return begin_range(name); }
void opd_range_end(uint64_t range) {
  if (range) end_range(range);
}
int32_t opd_range_push(const char *name) { return push_range(name ? name : ""); }
int32_t opd_range_pop(void) { return pop_range(); }
void opd_range_mark(uint32_t name) { add_mark(name); }
int32_t opd_itt_is_available(void) { return has_itt_collector(); }

int32_t opd_stack_is_recorded(void) { return is_recording(Interest::kStacks); }
void opd_stack_push(const opd_stack_frame *frames, int32_t num_frames) {
  std::array<uint64_t, 256> words;
  const size_t count = frames && num_frames > 0 ? std::min(static_cast<size_t>(num_frames), words.size()) : 0;
  for (size_t i = 0; i < count; ++i) words[i] = pack_frame({frames[i].function, frames[i].file, frames[i].line});
  push_language_stack({words.data(), count}, reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
}
void opd_stack_pop(void) { pop_language_stack(); }
