// Lets other processes record this one: if OPDYNO_CONTROL is set, a thread of the library listens on a socket for
// requests (docs/tracing.md, "Record from outside"). Cost: nothing if it is not set; else a thread that sleeps until a
// request arrives.
#pragma once
#include <functional>
#include <string_view>

#include "trace/record/recording.h"
#include "trace_formats/trace_file.h"

namespace opd {

// Called once, when the library is loaded.
void start_control(WriteTrace write) noexcept;

// ---- one client of the socket, which has its own thread

// Starts a client's only recording. The server owns it, so that a forked child can end it, and ends it with the
// connection.
using StartRecording = std::function<Recording &(const RecordingOptions &options)>;

// Reads a request and answers it. Throws errors that end the connection; send_control_error() reports them to the
// client. `fd`: a non-blocking socket, which the caller owns.
void serve_control(int fd, const StartRecording &start, WriteTrace write);
void send_control_error(int fd, std::string_view message) noexcept;

}  // namespace opd
