#include "base/path_pattern.h"

#include <unistd.h>

#include "base/text.h"

namespace opd {

std::string expand_path(std::string_view pattern, std::optional<uint64_t> number) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next != 'p' && next != '%' && !(next == 'n' && number)) {
      path += pattern[i];
      continue;
    }
    ++i;
    if (next == 'p') append(path, ::getpid());
    else if (next == 'n') append(path, *number);
    else path += '%';
  }
  return path;
}

bool has_process_number(std::string_view pattern) {
  for (size_t at = 0; (at = pattern.find('%', at)) != std::string_view::npos; at += 2)
    if (pattern.substr(at, 2) == "%p") return true;
  return false;
}

}  // namespace opd
