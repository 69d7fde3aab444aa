// One end of a connection. Every wait has a limit, so a peer that stops amid a message holds nobody up.
#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace opd::rpc {

// For poll(): at least 0, and rounded up.
int milliseconds_until(std::chrono::steady_clock::time_point end);

class Socket {
 public:
  using Time = std::chrono::nanoseconds;
  // `descriptor` stays the caller's. `stall`: most time between two parts of a message.
  Socket(int descriptor, Time stall);

  // From now on, all waits end at that time; {}: they do not.
  void end_at(std::chrono::steady_clock::time_point end) { end_ = end; }

  // Waits at most so long (0: without a limit) for the first byte of what comes next. False: the peer has closed the
  // connection. Throws OPD_DEADLINE_EXCEEDED, or OPD_IO.
  bool wait(Time limit);
  bool has_input(Time limit);        // within that time (0: without a limit): bytes, or the end of the connection
  void read(void *to, size_t size);  // throws also if the connection ends before
  void write(std::string_view head, std::string_view rest = {});
  // A number of its own, as greetings and trackers have them.
  int32_t read_number();
  void write_number(int32_t number) { write({reinterpret_cast<const char *>(&number), sizeof number}); }

 private:
  bool poll_for(short events, Time limit);
  // Gets what has come, without waiting: its size; 0: the peer has closed the connection; -1: there is nothing yet.
  ssize_t receive(void *to, size_t size);

  int descriptor_;
  Time stall_;
  std::chrono::steady_clock::time_point end_{};
  // What has come and was not read: a small message is received whole, by one system call.
  std::array<char, 4096> received_;
  size_t begin_ = 0, received_end_ = 0;
};

}  // namespace opd::rpc
