// Numbers of metrics as text for people, the same under every locale.
#pragma once
#include <cmath>

#include "base/error.h"

namespace opd {

// As printf's %.*g in the C locale.
inline void append_general(std::string &out, double number, int digits) {
  if (!std::isfinite(number)) return append_fixed(out, number, 0);
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, digits).ptr);
}

// Control characters, U+0080 to U+009F included, would break rows and lines apart, and a terminal obeys them.
inline void append_printable(std::string &out, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t c = static_cast<uint8_t>(text[i]), next = static_cast<uint8_t>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_late_control = c == 0xC2 && next >= 0x80 && next < 0xA0;
    out += c < 0x20 || c == 0x7F || is_late_control ? ' ' : text[i];
    i += is_late_control;
  }
}

// Text for people has a cell for each row and column, and cells as wide as the widest; a report from outside can make
// that far larger than itself.
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
