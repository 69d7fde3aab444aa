// The request that the calling thread works for.
#pragma once
#include "trace/model/trace_context.h"

namespace opd {

// The context of the runs that the calling thread begins from now on. Throws std::bad_alloc.
void set_trace_context(const TraceContext &context);
TraceContext trace_context();  // of the calling thread; all 0: there is none

}  // namespace opd
