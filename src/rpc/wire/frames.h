// Packets on a connection: a u64 with the size, then the packet. TCP misses some changes of bytes (its checksum has 16
// bits), so between two ends of opdyno's there are checksums, too: behind the size one of the size, and behind the
// packet one of both. They find accidents, no attacks. TLS has checksums of its own.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "rpc/wire/socket.h"

namespace opd::rpc {

// () of opdyno's servers: from the answer on, which has none yet, all frames of both sides have checksums.
inline constexpr const char *kChecksumFunction = "opdyno.rpc.checksums";
// The server's answer to a request whose checksum is wrong; then it ends the session.
inline constexpr std::string_view kDamageAnswer =
    "ConnectionError: bytes were changed on their way: the checksum of a packet is wrong";

std::string frame_of(std::string_view packet, bool has_checksums);

class Frames {
 public:
  explicit Frames(Socket &socket) : socket_(socket) {}

  void begin_checksums() { has_checksums_ = true; }
  bool has_checksums() const { return has_checksums_; }
  bool is_damaged() const { return is_damaged_; }  // a checksum was wrong
  bool is_secure() const { return socket_.is_secure(); }

  bool wait(Socket::Time limit) { return socket_.wait(limit); }

  uint64_t read_size();                // of the next packet; 0: the frame has none. Throws OPD_IO as end() does
  void read(void *to, uint64_t size);  // of the packet
  void end();                          // once all of the packet was read. Throws OPD_IO if its checksum is wrong

  void write(std::string_view packet, std::string_view rest = {});
  std::string framed(std::string_view packet) const { return frame_of(packet, has_checksums_); }
  // From a handler of a signal: see Socket::write_last().
  void write_last(std::string_view packet) const noexcept;
  void end_with(std::string_view packet) noexcept;  // the peer has sent more than was read

 private:
  Socket &socket_;
  bool has_checksums_ = false, is_damaged_ = false;
  uint32_t read_sum_ = 0;  // of what was read of the frame
};

}  // namespace opd::rpc
