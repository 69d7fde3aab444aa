#include "base/text.h"

#include <cmath>
#include <numeric>

namespace opd {

void append_fixed(std::string &out, double number, int decimals) {
  char digits[400];  // the largest double has 309 digits before the point
  if (!std::isfinite(number)) return append(out, std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed, decimals).ptr);
}

size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > 200 || b.size() > 200 || std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit)
    return limit + 1;
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace opd
