// A trace as Chrome trace events, with the fields that torch.profiler writes.
#pragma once
#include <string>
#include <string_view>

#include "base/byte_sink.h"
#include "trace/model/trace.h"

namespace opd {

// Writes JSON in pieces of some 64 KiB; no tree is built. `metadata`: a JSON object whose members become those of the
// whole, or "". Throws OPD_INVALID_ARGUMENT if it is something else. Cost: tools/bench, trace_chrome.
void write_chrome_trace(const Trace &trace, std::string_view metadata, ByteSink &sink);
std::string chrome_trace(const Trace &trace);

}  // namespace opd
