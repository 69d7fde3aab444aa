// The server of `opdyno serve`. Each client has a process of its own, so what one does cannot reach another.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/support/face.h"
#include "cli/support/net.h"

namespace opd::cli {

constexpr uint64_t kOwnBytesOfSession = uint64_t{256} << 20;  // beside what its client may have

struct ServerSettings {
  Endpoint listen;
  std::optional<Endpoint> tracker;
  std::string key, secret;
  bool lets_anyone;
  int64_t most_sessions;
  std::optional<std::chrono::nanoseconds> most_time;  // of a session
  std::string most_time_text;                         // as it was given
  std::string user;
  std::string allowed_modules;               // the content of that file
  std::string certificate, certificate_key;  // their files
  std::vector<const char *> read_paths;
  opd_rpc_serve_options session;
  std::optional<Endpoint> metrics;
  std::string otlp;
};

// Serves until SIGINT or SIGTERM. Changes the address to listen at to the one that it got.
void serve(ServerSettings &settings);

}  // namespace opd::cli
