// Handles requests of the control socket's clients: for a recording, or for the operators' activity second by second.
// docs/tracing.md describes the protocol.
#pragma once
#include <cstdint>
#include <string_view>

#include "control/connection.h"
#include "control/control.h"
#include "trace/record/recording.h"

namespace opd {

struct ControlRequest {
  enum class What { kRecord, kTop, kStop };
  What what;
  opd_trace_format form = OPD_TRACE_CHROME;
  bool gzip = false, memory = false, all_calls = false;
  uint64_t max_events = 1 << 20;          // limit per thread
  uint64_t time_ns = 86'400'000'000'000;  // length of the recording, or of each interval

  // Throws OPD_BAD_FORMAT or OPD_INVALID_ARGUMENT.
  static ControlRequest parse(std::string_view line);
};

// Starts a client's only recording. The server owns it, so that a forked child can end it, and ends it with the
// connection.
class ControlledRecording {
 public:
  virtual ~ControlledRecording() = default;
  virtual Recording &start(const RecordingOptions &options) = 0;
};

// Reads a request and answers it. Throws errors that end the connection; send_control_error() reports them to the
// client.
void serve_control(Connection &connection, ControlledRecording &recording, WriteTrace write);
void send_control_error(Connection &connection, std::string_view message) noexcept;

}  // namespace opd
