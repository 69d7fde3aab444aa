// Addresses of servers and heads of HTTP/1.1 as text.
#pragma once
#include <strings.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace opd {

// Opens a listening, non-blocking socket. Changes the text to the bound address: port 0 selects a free port. The host
// must be a number or "localhost", so there is no name lookup. Throws OPD_INVALID_ARGUMENT, or OPD_IO.
int listen_at(std::string &address);

struct HttpUrl {
  std::string host, port, path;  // path: without a trailing '/'

  // Throws OPD_INVALID_ARGUMENT, or OPD_UNSUPPORTED for https.
  static HttpUrl parse(const std::string &text);
  std::string authority() const;  // for the header Host
};

// Returns the value of a header, including surrounding blanks; "" if it is missing.
inline std::string_view header_in(std::string_view head, std::string_view name) {
  for (size_t line = head.find("\r\n"); line != head.npos; line = head.find("\r\n", line + 2)) {
    const std::string_view rest = head.substr(line + 2);
    if (rest.size() <= name.size() || rest[name.size()] != ':') continue;
    if (::strncasecmp(rest.data(), name.data(), name.size()) != 0) continue;
    const std::string_view value = rest.substr(name.size() + 1);
    return value.substr(0, value.find("\r\n"));
  }
  return "";
}

}  // namespace opd
