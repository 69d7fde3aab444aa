// A trace as Chrome trace events, with the fields that torch.profiler writes.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace opd {

// Writes JSON in pieces of some 64 KiB; no tree is built. Cost: tools/bench, trace_chrome.
void write_chrome_trace(const Trace &trace, const std::function<void(std::string_view)> &sink);
std::string chrome_trace(const Trace &trace);

}  // namespace opd
