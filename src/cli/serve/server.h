// The server of `opdyno serve`. Each client has its own process, so that clients cannot affect each other.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/support/face.h"
#include "cli/support/net.h"

namespace opd::cli {

// Memory that a session gets in addition to its client's limit.
constexpr uint64_t kOwnBytesOfSession = uint64_t{256} << 20;

struct ServerSettings {
  Endpoint listen;
  std::optional<Endpoint> tracker;
  std::string key, secret;
  bool lets_anyone;
  int64_t most_sessions;
  std::optional<std::chrono::nanoseconds> most_time;  // limit of a session
  std::string most_time_text;                         // the text of the option
  std::string user;
  std::string allowed_modules;  // content of the file with the list
  std::vector<const char *> read_paths;
  opd_rpc_serve_options session;
  std::optional<Endpoint> metrics;
  std::string otlp;
};

// Serves until SIGINT or SIGTERM. Sets the address in `settings` to the one that it listens at.
void serve(ServerSettings &settings);

}  // namespace opd::cli
