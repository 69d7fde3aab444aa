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

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string temporary_directory() {
  const std::string directory = environment("TMPDIR");
  return directory.empty() ? "/tmp" : directory;
}

}  // namespace opd
