// Writes a trace in any format.
#pragma once
#include <opdyno/trace.h>

#include "base/byte_sink.h"
#include "trace/model/trace.h"

namespace opd {

void write_trace(const Trace &trace, opd_trace_format form, ByteSink &out);  // uses all defaults

}  // namespace opd
