// One end of a connection. Every wait has a limit, so that a peer that stops inside a message blocks no thread forever.
#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace opd::rpc {

class Tls;

// A timeout for poll(): at least 0, rounded up.
int milliseconds_until(std::chrono::steady_clock::time_point end);

// Limits for noticing a silent peer, which has lost its power or its network.
struct PeerCheck {
  std::chrono::seconds idle{15}, between{5};  // time from the last packet to the first probe; time between probes
  int questions = 4;                          // unanswered probes until the peer counts as gone
  std::chrono::seconds limit() const { return idle + questions * between; }
};

class Socket {
 public:
  using Time = std::chrono::nanoseconds;
  // The caller still owns `descriptor`. `stall`: longest time between two parts of a message.
  Socket(int descriptor, Time stall, const PeerCheck &check = {});
  ~Socket();

  // From now on, all reads and writes go through TLS. Its handshake is made here, before anything else is read.
  void secure(std::unique_ptr<Tls> tls);
  bool is_secure() const { return tls_ != nullptr; }
  // Returns the next byte, but does not consume it. Waits as wait() does. -1: the peer has closed the connection.
  int peek(Time limit);

  // From now on, all waits end at that time; {}: no limit.
  void end_at(std::chrono::steady_clock::time_point end) { end_ = end; }

  // Waits for the next byte, but at most for `limit` (0: without a limit). False: the peer has closed the connection.
  // Throws OPD_DEADLINE_EXCEEDED, or OPD_IO.
  bool wait(Time limit);
  bool has_input(Time limit);        // within `limit` (0: none): bytes, or the end of the connection
  void read(void *to, size_t size);  // throws also if the connection ends before
  void write(std::string_view head, std::string_view rest = {}, std::string_view last = {});
  // For signal handlers, if nothing else is being written. Bytes that cannot be sent soon are dropped.
  void write_last(std::string_view bytes) noexcept;
  // Ends writing, and drops input until the peer closes the connection, but at most for `limit`. If the socket were
  // closed with unread input, the kernel would drop the bytes that were written last.
  void drain(Time limit) noexcept;
  // A single number, as in greetings and in the tracker's protocol.
  int32_t read_number();
  void write_number(int32_t number) { write({reinterpret_cast<const char *>(&number), sizeof number}); }

 private:
  // False: timed out. True also if the peer is gone: then `broken_` is set.
  bool poll_for(short events, Time limit);
  // Polls for input for a few microseconds without sleeping. False: nothing came, or the poll was skipped.
  bool stays_awake();
  // Waits for the next part of a message. If it does not come, throws an error with `text`.
  template <class... Text>
  void await_part(short events, const Text &...text);
  bool looks_at_peer();  // true: a check was due, and the peer is gone
  // Receives the available bytes without waiting. Returns their number; 0: the peer has closed the connection; -1:
  // there are none yet.
  ssize_t receive(void *to, size_t size);
  bool has_secure_input(Time limit);
  void write_secure(std::string_view bytes);

  int descriptor_;
  Time stall_;
  PeerCheck check_;
  std::chrono::steady_clock::time_point next_look_;
  std::chrono::steady_clock::time_point end_{};
  // Received bytes that were not read yet. A small message is received as a whole by one system call.
  std::array<char, 4096> received_;
  size_t begin_ = 0, received_end_ = 0;
  int asleep_ = 0, next_asleep_ = 1;  // waits that sleep at once: from now on; after the next poll in vain
  Ref<Error> broken_;                 // found by a check for input; the next read throws it
  bool is_closed_ = false;            // the peer has closed the TLS connection
  std::unique_ptr<Tls> tls_;
};

inline constexpr Socket::Time kStall = std::chrono::seconds(60);  // longest time between two parts of a message

}  // namespace opd::rpc
