#include "base/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace opd {

size_t bytes_from_environment(const char *name, size_t usual) {
  size_t mebibytes = usual;
  if (const char *text = std::getenv(name)) {
    const char *end = text + std::strlen(text);
    if (const auto [stop, error] = std::from_chars(text, end, mebibytes); error != std::errc() || stop != end)
      mebibytes = 0;
  }
  return std::min(mebibytes, SIZE_MAX >> 20) << 20;
}

}  // namespace opd
