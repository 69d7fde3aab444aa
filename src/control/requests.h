// Handles requests of the control socket's clients: for a recording, or for the operators' activity second by second.
// docs/tracing.md describes the protocol.
#pragma once
#include <functional>
#include <string_view>

#include "control/connection.h"
#include "control/control.h"
#include "trace/record/recording.h"

namespace opd {

// Starts a client's only recording. The server owns it, so that a forked child can end it, and ends it with the
// connection.
using StartRecording = std::function<Recording &(const RecordingOptions &options)>;

// Reads a request and answers it. Throws errors that end the connection; send_control_error() reports them to the
// client.
void serve_control(Connection &connection, const StartRecording &start, WriteTrace write);
void send_control_error(Connection &connection, std::string_view message) noexcept;

}  // namespace opd
