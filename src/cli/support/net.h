// Common parts of the program's servers: addresses as text, names that cannot be guessed, messages of TVM's tracker.
#pragma once
#include <string>
#include <string_view>

#include "cli/support/file.h"

namespace opd::cli {

std::string random_name();  // 32 hexadecimal digits that others cannot guess

// The secret in a file that only its owner can read, without the end of its line. Fails with Exit::usage.
std::string read_secret(const std::string &path);
// Fails with Exit::usage for a file that all users can read.
void require_private(const std::string &path);

struct Endpoint {
  std::string host, port;
  std::string text() const { return host.find(':') == host.npos ? host + ":" + port : "[" + host + "]:" + port; }
};
// "HOST:PORT", "[::1]:PORT" or "PORT" (host: 127.0.0.1). Fails with Exit::usage.
Endpoint parse_endpoint(std::string_view option, const std::string &text);

// Listens. Port 0 selects a free port, and `endpoint` gets its number. Fails with Exit::failed.
Descriptor listen_at(Endpoint &endpoint);
bool is_loopback(int listener);  // whether only this machine can reach it
std::string peer_of(int connection);

// A tracker, which assigns this server to one client at a time. Errors are Failures.
class Tracker {
 public:
  Tracker(Endpoint at, std::string key, int port);  // connects

  void offer(const std::string &match_key);     // offers this server to the next client
  bool is_taken(const std::string &match_key);  // a client got it
 private:
  std::string ask(const std::string &message);
  void send(std::string_view bytes);
  std::string receive(size_t size);

  Endpoint at_;
  std::string key_;
  int port_;
  Descriptor socket_;
};

}  // namespace opd::cli
