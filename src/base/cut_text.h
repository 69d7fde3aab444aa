// Shortens texts.
#pragma once
#include <cstddef>
#include <string_view>

namespace opd {

// Returns the first `most` bytes of UTF-8, or up to 3 fewer, so that no character is cut.
inline std::string_view cut_text(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t size = most;
  while (size > 0 && size + 4 > most && (text[size] & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace opd
