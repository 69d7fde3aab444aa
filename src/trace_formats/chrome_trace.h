// Writes a trace as Chrome trace events, with torch.profiler's fields.
#pragma once
#include <string>
#include <string_view>

#include "base/byte_sink.h"
#include "trace/model/trace.h"

namespace opd {

// Writes JSON in pieces of some 64 KiB without building a tree. `metadata`: a JSON object whose members are added to
// the whole object, or "". Throws OPD_INVALID_ARGUMENT for other metadata. Cost: tools/bench, trace_chrome.
void write_chrome_trace(const Trace &trace, std::string_view metadata, ByteSink &sink);
std::string chrome_trace(const Trace &trace);

}  // namespace opd
