// Addresses of servers as text.
#pragma once
#include <cstdint>
#include <string>

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

}  // namespace opd
