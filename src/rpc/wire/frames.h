// Frames on a connection: a u64 with the size, then the packet. TCP's checksum of 16 bits misses some errors, so
// opdyno's clients and servers add checksums: one of the size after the size, and one of both after the packet. They
// detect accidents, not attacks. TLS has its own checksums.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "rpc/wire/socket.h"

namespace opd::rpc {

// A function of opdyno's servers, without arguments. After its answer, all frames of both sides have checksums.
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

  uint64_t read_size();                // size of the next packet; 0: the frame has none. Throws OPD_IO as end() does
  void read(void *to, uint64_t size);  // reads a part of the packet
  // Reads until `to`, which has the packet so far, has `size` bytes, and ends the frame. Memory is allocated as the
  // bytes arrive. Otherwise the peer could make this process allocate memory by announcing a large packet.
  void read_rest(std::string &to, uint64_t size);
  void end();  // called after the whole packet was read. Throws OPD_IO if its checksum is wrong

  void write(std::string_view packet, std::string_view rest = {});
  std::string framed(std::string_view packet) const { return frame_of(packet, has_checksums_); }
  // For signal handlers: see Socket::write_last().
  void write_last(std::string_view packet) const noexcept;
  void end_with(std::string_view packet) noexcept;  // sends a last packet while the peer still sends

 private:
  Socket &socket_;
  bool has_checksums_ = false, is_damaged_ = false;
  uint32_t read_sum_ = 0;  // checksum of the frame's bytes so far
};

}  // namespace opd::rpc
