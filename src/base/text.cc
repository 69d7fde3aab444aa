#include "base/text.h"

#include <charconv>
#include <cmath>
#include <numeric>

namespace opd {
namespace {

template <class Number>
void append_shortest(std::string &out, Number number) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

void append(std::string &out, int64_t number) { append_shortest(out, number); }
void append(std::string &out, uint64_t number) { append_shortest(out, number); }
void append(std::string &out, double number) { append_shortest(out, number); }

std::string concat_all(std::span<const TextPart> parts) {
  std::string out;
  for (const TextPart &part : parts) switch (part.kind) {
      case TextPart::kText:
        append(out, part.text);
        break;
      case TextPart::kChar:
        append(out, part.character);
        break;
      case TextPart::kSigned:
        append(out, part.signed_number);
        break;
      case TextPart::kUnsigned:
        append(out, part.unsigned_number);
        break;
      case TextPart::kDouble:
        append(out, part.real_number);
        break;
      case TextPart::kLate:
        part.late.append(out, part.late.what);
        break;
    }
  return out;
}

void append_fixed(std::string &out, double number, int decimals) {
  char digits[400];  // the largest double has 309 digits before the point
  if (!std::isfinite(number)) return append(out, std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf");
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed, decimals).ptr);
}

void append_utf8(std::string &out, uint32_t point) {
  const auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) return add(point);
  if (point < 0x800) return add(0xC0 | point >> 6), add(0x80 | (point & 0x3F));
  if (point < 0x10000) add(0xE0 | point >> 12);
  else add(0xF0 | point >> 18), add(0x80 | (point >> 12 & 0x3F));
  add(0x80 | (point >> 6 & 0x3F));
  add(0x80 | (point & 0x3F));
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
