// include/opdyno/trace.h
#include "analysis/formats/chrome_trace.h"
#include "analysis/formats/gzip_sink.h"
#include "analysis/formats/trace_formats.h"
#include "analysis/formats/trace_table.h"
#include "analysis/trace_report.h"
#include "capi/handles.h"

using namespace opd;

size_t opd_trace_call_count(const opd_trace *trace) { return trace ? unwrap<Trace>(trace)->num_calls() : 0; }
uint64_t opd_trace_dropped_count(const opd_trace *trace) { return trace ? unwrap<Trace>(trace)->num_dropped() : 0; }

opd_error *opd_trace_to_chrome(const opd_trace *trace, opd_buffer **out_json) {
  return opd_trace_write(trace, OPD_TRACE_CHROME, nullptr, out_json);
}

namespace {

std::string_view text(const char *given) { return given ? given : ""; }

bool flag(int32_t given, const char *name) {
  require(given == 0 || given == 1, name, " must be 0 or 1, but is ", given);
  return given != 0;
}

TraceTableOptions table_options(const opd_trace_write_options &how) {
  TraceTableOptions options;
  options.rows.by_shape = flag(how.group_by_input_shape, "group_by_input_shape");
  options.rows.each_span = how.per_event != 0;
  options.rows.with_flops = flag(how.with_flops, "with_flops");
  options.sort_by = text(how.sort_by);
  require(how.row_limit >= -1, "row_limit must be -1 or more, but is ", how.row_limit);
  options.row_limit = how.row_limit < 0 ? SIZE_MAX : static_cast<size_t>(how.row_limit);
  for (const auto &[name, given, width] :
       {std::tuple("max_name_column_width", how.max_name_column_width, &options.max_name_width),
        std::tuple("max_shapes_column_width", how.max_shapes_column_width, &options.max_shapes_width)}) {
    require(given > 0, name, " must be positive, but is ", given);
    *width = static_cast<size_t>(given);
  }
  options.header = text(how.header);
  options.time_unit = text(how.time_unit);
  options.top_level_only = flag(how.top_level_events_only, "top_level_events_only");
  return options;
}

// Times on other devices than the host: there are none so far.
void write_stacks_of(const Trace &trace, const opd_trace_write_options &how, ByteSink &sink) {
  const std::string_view metric = text(how.metric);
  require(metric.empty() || metric == "self_cpu_time_total" || metric == "self_cuda_time_total",
          "metric must be self_cpu_time_total or self_cuda_time_total, but is \"", metric, "\"");
  if (metric != "self_cuda_time_total") write_stacks(trace, how.per_event != 0, sink);
}

void write(const Trace &trace, opd_trace_format format, const opd_trace_write_options &how, ByteSink &sink) {
  flag(how.per_event, "per_event");
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
      return write_flame_svg(trace, sink);
    default:
      fail(OPD_INVALID_ARGUMENT, "there is no form ", static_cast<int>(format), " of a trace");
  }
}

}  // namespace

opd_error *opd_trace_write(const opd_trace *trace, opd_trace_format format, const opd_trace_write_options *options,
                           opd_buffer **out_bytes) {
  return guard([&] {
    require(trace && out_bytes, "trace and out_bytes must not be NULL");
    StringSink sink;
    write(*unwrap<Trace>(trace), format, read_options(options, opd_trace_write_options_init), sink);
    give_text(sink.take(), out_bytes);
  });
}

opd_error *opd_trace_save(const opd_trace *trace, const char *path, opd_trace_format format,
                          const opd_trace_write_options *options) {
  return guard([&] {
    require(trace && path, "trace and path must not be NULL");
    const opd_trace_write_options how = read_options(options, opd_trace_write_options_init);
    FileSink file(path);
    if (std::string_view(path).ends_with(".gz") && format != OPD_TRACE_PPROF) {
      GzipSink packed(file);
      write(*unwrap<Trace>(trace), format, how, packed);
      packed.finish();
    } else {
      write(*unwrap<Trace>(trace), format, how, file);
    }
    file.commit();
  });
}

opd_error *opd_trace_to_report(const opd_trace *trace, opd_trace_view view, opd_report **out_report) {
  return guard([&] {
    require(trace && out_report, "trace and out_report must not be NULL");
    require(view == OPD_TRACE_EVENTS || view == OPD_TRACE_KEY_AVERAGES || view == OPD_TRACE_KEY_AVERAGES_BY_SHAPE,
            "there is no view ", static_cast<int>(view), " of a trace");
    const Trace &events = *unwrap<Trace>(trace);
    *out_report = wrap<opd_report>(view == OPD_TRACE_EVENTS
                                       ? report_of_events(events)
                                       : report_of_averages(events, view == OPD_TRACE_KEY_AVERAGES_BY_SHAPE));
  });
}
