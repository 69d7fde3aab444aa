#include "base/json_writer.h"

#include <algorithm>
#include <cstdint>

namespace opd {

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    if (!follows(1) || !follows(2)) return 0;
    const unsigned point = (first & 0xF) << 12 | (byte(1) & 0x3F) << 6;
    return point >= 0x800 && !(point >= 0xD800 && point < 0xE000) ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    const unsigned point = (first & 7) << 18 | (byte(1) & 0x3F) << 12;
    return point >= 0x10000 && point < 0x110000 ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0, length; i < text.size(); i += length)
    if (length = utf8_length(text.substr(i)); !length) return false;
  return true;
}

void append_utf8_text(std::string &out, std::string_view text) {
  if (is_utf8(text)) return append(out, text);
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    out += length ? text.substr(i, length) : "\xEF\xBF\xBD";
    i += std::max<size_t>(length, 1);
  }
}

void append_json_string(std::string &out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    constexpr std::string_view kCharacters = "\"\\\n\t\r", kNames = "\"\\ntr";
    if (static_cast<uint8_t>(c) >= 0x20 && c != '"' && c != '\\') out += text.substr(i, length);
    else if (const size_t place = kCharacters.find(c); place != std::string_view::npos) out += {'\\', kNames[place]};
    else out += {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
    i += length;
  }
  out += '"';
}

}  // namespace opd
