// Formats metrics' numbers for people, independently of the locale.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace opd {

// Like printf's %.*g in the C locale.
inline void append_general(std::string &out, double number, int digits) {
  if (!std::isfinite(number)) return append_fixed(out, number, 0);
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, digits).ptr);
}

// Durations in µs have two decimals. A shorter one is shown as "<0.01", not as 0.
inline constexpr double kShortestShown = 0.01;
inline constexpr std::string_view kBelowShortest = "<0.01";

// Replaces control characters, including U+0080 to U+009F, by spaces: they would break rows and lines, and terminals
// interpret them.
inline void append_printable(std::string &out, std::string_view text) {
  const char *begin = text.data(), *const end = begin + text.size();
  for (const char *at = begin; at != end; ++at) {
    const auto c = static_cast<uint8_t>(*at);
    if (c >= 0x20 && c != 0x7F && c != 0xC2) [[likely]]
      continue;
    const bool is_late = c == 0xC2 && end - at > 1 && static_cast<uint8_t>(at[1]) < 0xA0;
    if (c == 0xC2 && !is_late) continue;
    out.append(begin, at) += ' ';
    at += is_late;
    begin = at + 1;
  }
  out.append(begin, end);
}

inline size_t width_of(std::string_view text) {  // in code points
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// A text table pads each cell to the width of its column, so a hostile report could make a table far larger than
// itself.
inline void check_cells(size_t rows, size_t columns) {
  constexpr size_t kMost = size_t{1} << 26;
  if (columns && rows > kMost / columns)
    fail(OPD_UNSUPPORTED, "the report has ", rows, " rows and ", columns, " columns; tables have at most ", kMost,
         " cells");
}
inline void check_table_bytes(size_t rows, size_t bytes_per_row) {
  constexpr size_t kMost = size_t{1} << 31;
  if (rows > kMost / bytes_per_row)
    fail(OPD_UNSUPPORTED, "a table of ", rows, " rows of ", bytes_per_row, " characters exceeds ", kMost, " bytes");
}

}  // namespace opd
