// One client of the control socket. It sends lines of JSON, and receives lines of JSON and bytes that a line announces.
// All sizes and waits are bounded, because a client may send anything, send slowly, or stop reading.
#pragma once
#include <string>
#include <string_view>

#include "base/byte_sink.h"

namespace opd {

class Connection {
 public:
  static constexpr size_t kMostLine = 4096;  // bytes of a request
  explicit Connection(int fd) : fd_(fd) {}   // a non-blocking socket, which the caller owns
  Connection(const Connection &) = delete;

  enum class Waited { kLine, kGone, kTime };
  // Waits for a line, for the end of the connection, or until that time of monotonic_ns(). A client that only stops
  // sending is still connected. Throws OPD_INVALID_ARGUMENT if the line is too long.
  Waited wait(uint64_t until_ns);
  std::string take_line();  // call it after kLine; without the line break
  // The other side sends nothing more, so only the end of the connection can follow.
  bool has_ended() const { return has_ended_; }

  // Throws OPD_IO if the client is gone, or has read nothing for half a minute.
  void send(std::string_view bytes);
  void send_line(std::string line) { send(line += '\n'); }

 private:
  void receive();

  const int fd_;
  bool has_ended_ = false;
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

}  // namespace opd
