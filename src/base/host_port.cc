#include "base/host_port.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace opd {

HostPort HostPort::parse(std::string_view text, std::string_view usual_port, std::string_view whole) {
  HostPort made;
  if (text.starts_with('[')) {  // an IPv6 address, which has colons
    const size_t end = text.find(']');
    require(end != text.npos, "\"", whole, "\" has a '[' without a ']'");
    made.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    made.host = text.substr(0, end);
    text.remove_prefix(end);
  }
  if (text.starts_with(':')) made.port = text.substr(1);
  else if (text.empty()) made.port = usual_port;
  require(!made.host.empty() && number_in<uint16_t>(made.port), "\"", whole,
          "\" is not an address; write it as HOST:PORT, for example 127.0.0.1:9090");
  return made;
}

}  // namespace opd
