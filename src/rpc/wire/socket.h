// One end of a connection. Every wait has a limit, so a peer that stops amid a message blocks no thread for good.
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

// For poll(): at least 0, and rounded up.
int milliseconds_until(std::chrono::steady_clock::time_point end);

// How to notice a peer that lost its power or its network, and so is silent.
struct PeerCheck {
  std::chrono::seconds idle{15}, between{5};  // from the last sign of life to the first question, and to the next one
  int questions = 4;                          // that stay without an answer
  std::chrono::seconds limit() const { return idle + questions * between; }
};

class Socket {
 public:
  using Time = std::chrono::nanoseconds;
  // `descriptor` stays the caller's. `stall`: most time between two parts of a message.
  Socket(int descriptor, Time stall, const PeerCheck &check = {});
  ~Socket();

  // From now on, all reads and writes go through TLS. Its handshake is made here, before anything else is read.
  void secure(std::unique_ptr<Tls> tls);
  bool is_secure() const { return tls_ != nullptr; }
  // The next byte, which stays to be read; waits as wait(). -1: the peer has closed the connection.
  int peek(Time limit);

  // From now on, all waits end at that time; {}: they do not.
  void end_at(std::chrono::steady_clock::time_point end) { end_ = end; }

  // Waits at most so long (0: without a limit) for the first byte of what comes next. False: the peer has closed the
  // connection. Throws OPD_DEADLINE_EXCEEDED, or OPD_IO.
  bool wait(Time limit);
  bool has_input(Time limit);        // within that time (0: without a limit): bytes, or the end of the connection
  void read(void *to, size_t size);  // throws also if the connection ends before
  void write(std::string_view head, std::string_view rest = {}, std::string_view last = {});
  // From a handler of a signal, if nothing else is being written: bytes that cannot be sent soon are dropped.
  void write_last(std::string_view bytes) noexcept;
  // Writes no more, and drops what comes, for at most so long, until the peer closes the connection. If it were closed
  // while bytes of the peer are unread, the kernel would drop what was written last.
  void drain(Time limit) noexcept;
  // A number of its own, as greetings and trackers have them.
  int32_t read_number();
  void write_number(int32_t number) { write({reinterpret_cast<const char *>(&number), sizeof number}); }

 private:
  // False: the time is over. True also if the peer is gone: then `broken_` is set.
  bool poll_for(short events, Time limit);
  // Looks for input for some microseconds without sleeping. False: nothing came, or this look was left out.
  bool stays_awake();
  // Waits for the next part of a message. Throws if it does not come, with the parts of that text.
  template <class... Text>
  void await_part(short events, const Text &...text);
  bool looks_at_peer();  // whether it is time to, and the peer is gone
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
  // Received bytes that were not read yet: a small message is received as a whole, by one system call.
  std::array<char, 4096> received_;
  size_t begin_ = 0, received_end_ = 0;
  int asleep_ = 0, next_asleep_ = 1;  // waits that sleep at once: now, and after the next one in which nothing came
  Ref<Error> broken_;                 // found by a check for something to read; the next read throws it
  bool is_closed_ = false;            // by the peer, in terms of TLS
  std::unique_ptr<Tls> tls_;
};

inline constexpr Socket::Time kStall = std::chrono::seconds(60);  // between two parts of a message

}  // namespace opd::rpc
