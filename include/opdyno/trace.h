/** @file trace.h  Traces: recorded calls on a time line. */
#ifndef OPDYNO_TRACE_H_
#define OPDYNO_TRACE_H_

#include <opdyno/base.h>

OPD_BEGIN_DECLS

/** A recording: calls with begin, end, thread and name. Immutable. */
typedef struct opd_trace opd_trace;
OPD_HANDLE(opd_trace);

/** Returns the number of recorded calls. Threads: safe. Since: 0.1 */
OPD_API size_t opd_trace_call_count(const opd_trace *trace);

/** Returns the number of calls, of operators and of programs, and ranges for which there was no room. Threads: safe.
 * Since: 0.1 */
OPD_API uint64_t opd_trace_dropped_count(const opd_trace *trace);

/** Writes the Chrome trace event format, which Perfetto opens.
 * @param out_json New reference.
 * @return NULL, or OPD_OUT_OF_MEMORY.
 * Threads: safe. Since: 0.1. Source: Trace Event Format; field names as torch.profiler writes them. */
OPD_API OPD_NODISCARD opd_error *opd_trace_to_chrome(const opd_trace *trace, opd_buffer **out_json);

OPD_END_DECLS
#endif
