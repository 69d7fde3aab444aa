// The head of a request or an answer of HTTP/1.1.
#pragma once
#include <strings.h>

#include <string_view>

namespace opd {

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
