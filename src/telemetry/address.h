// Addresses of servers as text.
#pragma once
#include <cstdint>
#include <string>

#include "base/error.h"

namespace opd {

// A listening, non-blocking socket. Changes the text to the address that it got: the port 0 takes a free one. The host
// is a number or "localhost", so no other machine is asked. Throws OPD_INVALID_ARGUMENT, or OPD_IO.
int listen_at(std::string &address);

struct HttpUrl {
  std::string host, port, path;  // the path without a '/' at its end

  // Throws OPD_INVALID_ARGUMENT, or OPD_UNSUPPORTED for https.
  static HttpUrl parse(const std::string &text);
  std::string authority() const;  // for the header Host
};

}  // namespace opd
