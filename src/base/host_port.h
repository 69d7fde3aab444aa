// A machine and one of its ports, as users write them.
#pragma once
#include <string>
#include <string_view>

namespace opd {

struct HostPort {
  std::string host, port;

  // "HOST:PORT" or "[::1]:PORT"; "HOST", too, if there is a usual port. Throws OPD_INVALID_ARGUMENT, which shows
  // `whole`.
  static HostPort parse(std::string_view text, std::string_view usual_port, std::string_view whole);
  static HostPort parse(std::string_view text) { return parse(text, "", text); }
  std::string text() const { return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + port; }
};

}  // namespace opd
