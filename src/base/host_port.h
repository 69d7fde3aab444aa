// A host and port as users write them.
#pragma once
#include <string>
#include <string_view>

namespace opd {

struct HostPort {
  std::string host, port;

  // Parses "HOST:PORT" or "[::1]:PORT"; also "HOST" if there is a usual port. Throws OPD_INVALID_ARGUMENT with `whole`
  // in the message.
  static HostPort parse(std::string_view text, std::string_view usual_port, std::string_view whole);
  static HostPort parse(std::string_view text) { return parse(text, "", text); }
  std::string text() const { return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + port; }
};

}  // namespace opd
