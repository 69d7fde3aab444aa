// Files of traces, whatever their form is.
#pragma once
#include <opdyno/trace.h>

#include <functional>
#include <string>

#include "base/byte_sink.h"
#include "trace/model/trace.h"

namespace opd {

// Writes a trace with the defaults of its form.
using WriteTrace = void (*)(const Trace &trace, opd_trace_format form, ByteSink &out);

// Whether the form needs a trace with memory.
constexpr bool is_memory_timeline(opd_trace_format form) {
  return form == OPD_TRACE_MEMORY_TIMELINE || form == OPD_TRACE_MEMORY_TIMELINE_RAW ||
         form == OPD_TRACE_MEMORY_TIMELINE_HTML;
}

// Writes a file, which appears as a whole. If the path ends in ".gz" and the form is not compressed already, it is
// compressed by gzip.
void save_trace_file(const std::string &path, opd_trace_format form, const std::function<void(ByteSink &)> &write);

}  // namespace opd
