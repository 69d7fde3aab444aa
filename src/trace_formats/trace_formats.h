// Writes traces in the formats of other tools.
#pragma once
#include "base/byte_sink.h"
#include "trace_views/key_averages.h"

namespace opd {

// Writes Chrome trace events, with torch.profiler's fields: JSON in pieces of about 64 KiB without building a tree.
// `metadata`: a JSON object whose members are added to the whole object, or "". Throws OPD_INVALID_ARGUMENT for other
// metadata. Cost: tools/bench, trace_chrome.
void write_chrome_trace(const Trace &trace, std::string_view metadata, ByteSink &sink);

// Writes lines for flame graphs: "outer;inner 1200". The number is the self time of the innermost span, in whole µs.
// There is one line for each stack, rounded up; with `per_event`, as in torch.profiler, one for each span, rounded
// down. `of_devices`: uses the time on devices of the work that the spans submitted.
void write_stacks(const Trace &trace, bool per_event, bool of_devices, ByteSink &out);

// Source: speedscope's file-format-spec.ts.
void write_speedscope(const Trace &trace, ByteSink &out);

// Source: Perfetto's trace_packet.proto, track_event.proto. A call takes about 35 bytes.
void write_perfetto(const Trace &trace, ByteSink &out);

// Memory timelines as in torch.profiler: bytes in use by category, and each block. They throw as memory_timeline()
// does.
void write_memory_timeline(const Trace &trace, std::string_view device, ByteSink &out);
void write_memory_timeline_raw(const Trace &trace, std::string_view device, ByteSink &out);
void write_memory_timeline_html(const Trace &trace, std::string_view device, ByteSink &out);

// Uncompressed. Source: pprof's profile.proto.
void write_pprof(const Trace &trace, ByteSink &out);

// A self-contained page: time line, table of operators, flame graph. A call takes one to three bytes.
void write_html(const Trace &trace, ByteSink &out);

// A flame graph as SVG; titles of boxes show their numbers.
void write_flame_svg(const Trace &trace, ByteSink &out);
// The changes between two traces, as a flame graph of both, with the times of a part (trace_views/path_report.cc).
void write_flame_diff_svg(const Trace &before, const Trace &after, ByteSink &out);

// A text table as torch.profiler's: its columns, widths and rounding.
struct TraceTableOptions {
  KeyAverageOptions rows;
  std::string_view sort_by;  // a metric, largest first; "": in the order of the first begins
  size_t row_limit = 100;
  size_t max_name_width = 55, max_shapes_width = 80, max_source_width = 75;
  std::string_view header, time_unit;  // time_unit: "s", "ms", "us", or "" to choose a unit for each time
  bool top_level_only = false;         // only outermost spans
};

// Throws OPD_NOT_FOUND for an unknown metric, OPD_INVALID_ARGUMENT for an unknown unit.
std::string trace_table(const Trace &trace, const TraceTableOptions &options);

}  // namespace opd
