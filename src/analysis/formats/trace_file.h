// Files of traces, whatever their form is.
#pragma once
#include <opdyno/trace.h>

#include <functional>
#include <string>

#include "base/byte_sink.h"
#include "trace/trace.h"

namespace opd {

// Writes a trace with the defaults of its form.
using WriteTrace = void (*)(const Trace &trace, opd_trace_format form, ByteSink &out);

// Writes a file, which appears as a whole. If the path ends in ".gz" and the form is not compressed already, it is
// compressed by gzip.
void save_trace_file(const std::string &path, opd_trace_format form, const std::function<void(ByteSink &)> &write);

}  // namespace opd
