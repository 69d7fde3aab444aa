// How often a text holds another one.
#pragma once
#include <string_view>

namespace opdyno_test {

inline size_t occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

}  // namespace opdyno_test
