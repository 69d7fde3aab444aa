// One client of the control socket: lines of JSON in; lines of JSON, and bytes that a line announces, out. All sizes
// and waits are bounded, since a client may send anything, slowly, or stop to read.
#pragma once
#include <string>
#include <string_view>

#include "base/byte_sink.h"

namespace opd {

class Connection {
 public:
  static constexpr size_t kMostLine = 4096;  // bytes of a request
  explicit Connection(int fd) : fd_(fd) {}   // a non-blocking socket, which stays the caller's
  Connection(const Connection &) = delete;

  enum class Waited { kLine, kGone, kTime };
  // Waits until there is a line, until the other side has closed the connection, or until that moment of
  // monotonic_ns(). A client that only sends no more is still there. Throws OPD_INVALID_ARGUMENT for a line that is too
  // long.
  Waited wait(uint64_t until_ns);
  std::string take_line();  // after kLine; without its line break
  // The other side sends no more, so that nothing but its end can be waited for.
  bool has_ended() const { return has_ended_; }

  // Throws OPD_IO if the client is gone, or has not taken anything for half a minute.
  void send(std::string_view bytes);
  void send_line(std::string line) { send(line += '\n'); }

 private:
  void receive();

  const int fd_;
  bool has_ended_ = false;
  std::string received_;
};

// Sends what is written in pieces: a line {"bytes":N}, and N bytes.
class PieceSink final : public ByteSink {
 public:
  explicit PieceSink(Connection &connection) : connection_(connection) {}
  void finish();  // to be called after the last byte

 private:
  static constexpr size_t kPiece = 64 << 10;
  void put(const void *data, size_t size) override;

  Connection &connection_;
  std::string piece_;
};

}  // namespace opd
