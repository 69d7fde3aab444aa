// The trace context of the request that the calling thread works for.
#pragma once
#include "trace/model/trace_context.h"

namespace opd {

// Sets the context for runs that the calling thread begins from now on. Throws std::bad_alloc.
void set_trace_context(const TraceContext &context);
TraceContext trace_context();  // the calling thread's context; all 0: none

}  // namespace opd
