// Traces in the forms of other tools.
#pragma once
#include "base/byte_sink.h"
#include "trace/model/trace.h"

namespace opd {

// Lines for flame graphs: "outer;inner 1200". The number is the self time of the innermost span, in whole µs. There is
// one line for each stack, rounded up; with `per_event`, as torch.profiler writes it, one for each span, rounded down.
// `of_devices`: the time is that on devices of what the spans gave them.
void write_stacks(const Trace &trace, bool per_event, bool of_devices, ByteSink &out);

// Source: speedscope's file-format-spec.ts.
void write_speedscope(const Trace &trace, ByteSink &out);

// Source: Perfetto's trace_packet.proto, track_event.proto. Some 35 bytes a call.
void write_perfetto(const Trace &trace, ByteSink &out);

// Memory timelines of torch.profiler: the bytes in use by category, and each block. Throw as memory_timeline().
void write_memory_timeline(const Trace &trace, std::string_view device, ByteSink &out);
void write_memory_timeline_raw(const Trace &trace, std::string_view device, ByteSink &out);
void write_memory_timeline_html(const Trace &trace, std::string_view device, ByteSink &out);

// Not compressed. Source: pprof's profile.proto.
void write_pprof(const Trace &trace, ByteSink &out);

// OpenTelemetry's ProfilesData, whose definition is in development. Source: profiles/v1development/profiles.proto.
void write_otlp(const Trace &trace, ByteSink &out);

// A page that needs nothing else: time line, table of operators, flame graph. One to three bytes a call.
void write_html(const Trace &trace, ByteSink &out);

// A flame graph as SVG, with the numbers of each box as its title.
void write_flame_svg(const Trace &trace, ByteSink &out);
// The changes between two traces, as a flame graph of both: the times of a part (trace_views/trace_division.h).
void write_flame_diff_svg(const Trace &before, const Trace &after, ByteSink &out);

}  // namespace opd
