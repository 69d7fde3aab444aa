// Saves traces in any format as files.
#pragma once
#include <opdyno/trace.h>

#include <functional>
#include <string>

#include "base/byte_sink.h"
#include "trace/model/trace.h"

namespace opd {

// Writes a trace with the format's default options.
using WriteTrace = void (*)(const Trace &trace, opd_trace_format form, ByteSink &out);

// Whether the format needs a trace with memory.
constexpr bool is_memory_timeline(opd_trace_format form) {
  return form == OPD_TRACE_MEMORY_TIMELINE || form == OPD_TRACE_MEMORY_TIMELINE_RAW ||
         form == OPD_TRACE_MEMORY_TIMELINE_HTML;
}

// Writes the file atomically. If the path ends in ".gz" and the format is not compressed already, the file is
// compressed with gzip.
void save_trace_file(const std::string &path, opd_trace_format form, const std::function<void(ByteSink &)> &write);

}  // namespace opd
