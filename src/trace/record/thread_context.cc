#include "trace/record/thread_context.h"

#include "trace/record/recorder.h"

namespace opd {

TraceContext trace_context() { return thread_state().track ? Recorder::get().track().context() : TraceContext{}; }

void set_trace_context(const TraceContext &context) { Recorder::get().track().set_context(context); }

}  // namespace opd
