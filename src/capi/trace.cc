// Implements include/opdyno/trace.h.
#include "base/log.h"
#include "capi/handles.h"
#include "capi/trace_write.h"
#include "trace/file/event_file.h"
#include "trace_formats/trace_file.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/trace_report.h"

using namespace opd;

opd_error *opd_trace_load(const char *path, opd_trace **out_trace) {
  return guard([&] {
    OPD_REQUIRE(path, out_trace);
    *out_trace = wrap<opd_trace>(read_event_file(path));
  });
}

uint64_t opd_trace_call_count(const opd_trace *trace) { return trace ? unwrap<Trace>(trace)->num_calls() : 0; }
uint64_t opd_trace_dropped_count(const opd_trace *trace) { return trace ? unwrap<Trace>(trace)->num_dropped() : 0; }

namespace {

std::string_view text(const char *given) { return given ? given : ""; }

bool flag(int32_t given, const char *name) {
  require(given == 0 || given == 1, name, " must be 0 or 1, but is ", given);
  return given != 0;
}

KeyAverageOptions average_options(const opd_trace_write_options &how) {
  KeyAverageOptions options;
  options.by_shape = flag(how.group_by_input_shape, "group_by_input_shape");
  require(how.group_by_stack_n >= 0, "group_by_stack_n must not be negative, but is ", how.group_by_stack_n);
  options.stack_depth = static_cast<size_t>(how.group_by_stack_n);
  return options;
}

TraceTableOptions table_options(const opd_trace_write_options &how) {
  TraceTableOptions options;
  options.rows = average_options(how);
  options.rows.each_span = how.per_event != 0;
  options.rows.with_flops = flag(how.with_flops, "with_flops");
  options.sort_by = text(how.sort_by);
  require(how.row_limit >= -1, "row_limit must be -1 or more, but is ", how.row_limit);
  options.row_limit = how.row_limit < 0 ? SIZE_MAX : static_cast<size_t>(how.row_limit);
  for (const auto &[name, given, width] :
       {std::tuple("max_name_column_width", how.max_name_column_width, &options.max_name_width),
        std::tuple("max_shapes_column_width", how.max_shapes_column_width, &options.max_shapes_width),
        std::tuple("max_src_column_width", how.max_src_column_width, &options.max_source_width)}) {
    require(given > 0, name, " must be positive, but is ", given);
    *width = static_cast<size_t>(given);
  }
  options.header = text(how.header);
  options.time_unit = text(how.time_unit);
  options.top_level_only = flag(how.top_level_events_only, "top_level_events_only");
  return options;
}

// Stacks do not yet have times of devices other than the host.
void write_stacks_of(const Trace &trace, const opd_trace_write_options &how, ByteSink &sink) {
  const std::string_view metric = text(how.metric);
  require(metric.empty() || metric == "self_cpu_time_total" || metric == "self_cuda_time_total",
          "metric must be self_cpu_time_total or self_cuda_time_total, but is \"", metric, "\"");
  write_stacks(trace, how.per_event != 0, metric == "self_cuda_time_total", sink);
}

void write(const Trace &trace, opd_trace_format format, const opd_trace_write_options &how, ByteSink &sink) {
  flag(how.per_event, "per_event");
  const bool has_place =
      format != OPD_TRACE_STACKS && format != OPD_TRACE_MEMORY_TIMELINE && format != OPD_TRACE_MEMORY_TIMELINE_RAW;
  if (const uint64_t dropped = trace.num_dropped(); dropped && !has_place)
    log_warning("the trace lacks ", dropped, " events that were dropped; the written form has no place to say so");
  switch (format) {
    case OPD_TRACE_CHROME:
      return write_chrome_trace(trace, text(how.metadata), sink);
    case OPD_TRACE_TABLE:
      return sink.write(trace_table(trace, table_options(how)));
    case OPD_TRACE_STACKS:
      return write_stacks_of(trace, how, sink);
    case OPD_TRACE_SPEEDSCOPE:
      return write_speedscope(trace, sink);
    case OPD_TRACE_PERFETTO:
      return write_perfetto(trace, sink);
    case OPD_TRACE_MEMORY_TIMELINE:
      return write_memory_timeline(trace, text(how.device), sink);
    case OPD_TRACE_MEMORY_TIMELINE_RAW:
      return write_memory_timeline_raw(trace, text(how.device), sink);
    case OPD_TRACE_MEMORY_TIMELINE_HTML:
      return write_memory_timeline_html(trace, text(how.device), sink);
    case OPD_TRACE_PPROF: {
      GzipSink packed(sink);
      write_pprof(trace, packed);
      return packed.finish();
    }
    case OPD_TRACE_HTML:
      return write_html(trace, sink);
    case OPD_TRACE_FLAME_SVG:
      return how.before ? write_flame_diff_svg(*unwrap<Trace>(how.before), trace, sink) : write_flame_svg(trace, sink);
    default:
      fail(OPD_INVALID_ARGUMENT, "there is no form ", static_cast<int>(format), " of a trace");
  }
}

}  // namespace

void opd::write_trace(const Trace &trace, opd_trace_format form, ByteSink &out) {
  write(trace, form, read_options<opd_trace_write_options>(nullptr, opd_trace_write_options_init), out);
}

opd_error *opd_trace_write(const opd_trace *trace, opd_trace_format format, const opd_trace_write_options *options,
                           opd_buffer **out_bytes) {
  return guard([&] {
    OPD_REQUIRE(trace, out_bytes);
    StringSink sink;
    write(*unwrap<Trace>(trace), format, read_options(options, opd_trace_write_options_init), sink);
    give_text(sink.take(), out_bytes);
  });
}

opd_error *opd_trace_save(const opd_trace *trace, const char *path, opd_trace_format format,
                          const opd_trace_write_options *options) {
  return guard([&] {
    OPD_REQUIRE(trace, path);
    const opd_trace_write_options how = read_options(options, opd_trace_write_options_init);
    save_trace_file(path, format, [&](ByteSink &out) { write(*unwrap<Trace>(trace), format, how, out); });
  });
}

namespace {
Ref<Report> view_of(const Trace &trace, opd_trace_view view, const opd_trace_write_options &how) {
  switch (view) {
    case OPD_TRACE_EVENTS:
      return report_of_events(trace);
    case OPD_TRACE_KEY_AVERAGES:
    case OPD_TRACE_KEY_AVERAGES_BY_SHAPE: {
      KeyAverageOptions rows = average_options(how);
      rows.by_shape |= view == OPD_TRACE_KEY_AVERAGES_BY_SHAPE;
      return report_of_averages(trace, rows);
    }
    case OPD_TRACE_TASKS:
      return report_of_tasks(trace);
    case OPD_TRACE_PATHS:
    case OPD_TRACE_PATHS_BY_PART:
      return report_of_paths(trace, view == OPD_TRACE_PATHS_BY_PART);
    case OPD_TRACE_KEY_AVERAGES_BY_PART:
      return report_of_averages_by_part(trace);
    default:
      fail(OPD_INVALID_ARGUMENT, "there is no view ", static_cast<int>(view), " of a trace");
  }
}
}  // namespace

opd_error *opd_trace_to_report(const opd_trace *trace, opd_trace_view view, const opd_trace_write_options *options,
                               opd_report **out_report) {
  return guard([&] {
    OPD_REQUIRE(trace, out_report);
    const opd_trace_write_options how = read_options(options, opd_trace_write_options_init);
    *out_report = wrap<opd_report>(view_of(*unwrap<Trace>(trace), view, how));
  });
}

opd_error *opd_trace_merge(const opd_trace *const *traces, int32_t num_traces, const opd_trace_merge_options *options,
                           opd_trace **out_trace) {
  return guard([&] {
    OPD_REQUIRE(out_trace);
    const auto all = objects_of<const Trace *>(OPD_REQUIRE_ITEMS(traces, num_traces), "traces");
    const opd_trace_merge_options how = read_options(options, opd_trace_merge_options_init);
    TraceMergeOptions given;
    const auto shifts = OPD_REQUIRE_ITEMS(how.offsets_ns, how.num_offsets_ns);
    const auto errors = OPD_REQUIRE_ITEMS(how.clock_errors_ns, how.num_clock_errors_ns);
    given.shifts_ns = {shifts.begin(), shifts.end()};
    given.clock_errors_ns = {errors.begin(), errors.end()};
    for (const char *label : OPD_REQUIRE_ITEMS(how.labels, how.num_labels)) given.labels.emplace_back(text(label));
    *out_trace = wrap<opd_trace>(merge_traces(all, given));
  });
}
