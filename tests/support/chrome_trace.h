// A trace as text in Chrome's form.
#pragma once
#include "trace_formats/trace_formats.h"

namespace opd {

inline std::string chrome_trace(const Trace &trace) {
  StringSink sink;
  write_chrome_trace(trace, "", sink);
  return sink.take();
}

}  // namespace opd
