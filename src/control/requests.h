// Handles requests of the control socket's clients: for a recording, or for the operators' activity second by second.
// docs/tracing.md describes the protocol.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/byte_sink.h"
#include "trace/record/recording.h"
#include "trace_formats/trace_file.h"

namespace opd {

// One client of the control socket. It sends lines of JSON, and receives lines of JSON and bytes that a line announces.
// All sizes and waits are bounded, because a client may send anything, send slowly, or stop reading.
class Connection {
 public:
  static constexpr size_t kMostLine = 4096;  // bytes of a request
  explicit Connection(int fd) : fd_(fd) {}   // a non-blocking socket, which the caller owns
  Connection(const Connection &) = delete;

  enum class Waited { kLine, kGone, kTime };
  // Waits for a line, for the end of the connection, or until `until_ns` of monotonic_ns(). A client that only stops
  // sending is still connected. Throws OPD_INVALID_ARGUMENT if the line is too long.
  Waited wait(uint64_t until_ns);
  std::string take_line();  // call it after kLine; without the line break

  // Throws OPD_IO if the client is gone, or has read nothing for half a minute.
  void send(std::string_view bytes);
  void send_line(std::string line) { send(line += '\n'); }

 private:
  void receive();

  const int fd_;
  bool has_ended_ = false;  // the other side sends nothing more, so only the end of the connection can follow
  std::string received_;
};

// Sends data in pieces: a line {"bytes":N}, then N bytes.
class PieceSink final : public ByteSink {
 public:
  explicit PieceSink(Connection &connection) : connection_(connection) {}
  void finish();  // call it after the last byte

 private:
  static constexpr size_t kPiece = 64 << 10;
  void put(const void *data, size_t size) override;

  Connection &connection_;
  std::string piece_;
};

// Starts a client's only recording. The server owns it, so that a forked child can end it, and ends it with the
// connection.
using StartRecording = std::function<Recording &(const RecordingOptions &options)>;

// Reads a request and answers it. Throws errors that end the connection; send_control_error() reports them to the
// client.
void serve_control(Connection &connection, const StartRecording &start, WriteTrace write);
void send_control_error(Connection &connection, std::string_view message) noexcept;

}  // namespace opd
