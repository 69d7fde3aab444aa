// Saves traces in any format as files, compressed with gzip if their names say so.
#pragma once
#include <opdyno/trace.h>

#include <functional>
#include <memory>
#include <string>

#include "base/byte_sink.h"
#include "trace/model/trace.h"

namespace opd {

// Compresses with gzip and passes the result to another sink.
class GzipSink final : public ByteSink {
 public:
  explicit GzipSink(ByteSink &out);
  ~GzipSink();
  void finish();  // call it after the last byte

 private:
  struct State;
  void put(const void *data, size_t size) override;
  void run(const void *data, size_t size, int flush);

  ByteSink &out_;
  const std::unique_ptr<State> state_;
};

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
