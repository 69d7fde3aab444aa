// include/opdyno/trace.h
#include "analysis/chrome_trace.h"
#include "capi/handles.h"

using namespace opd;

size_t opd_trace_call_count(const opd_trace *trace) { return trace ? unwrap<Trace>(trace)->num_calls() : 0; }
uint64_t opd_trace_dropped_count(const opd_trace *trace) { return trace ? unwrap<Trace>(trace)->num_dropped() : 0; }

opd_error *opd_trace_to_chrome(const opd_trace *trace, opd_buffer **out_json) {
  return guard([&] {
    require(trace && out_json, "trace and out_json must not be NULL");
    give_text(chrome_trace(*unwrap<Trace>(trace)), out_json);
  });
}
