#include "base/json_document.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <new>

#include "base/error.h"
#include "base/json_writer.h"

namespace opd {
namespace {

constexpr size_t kMostLevels = 100;  // nesting limit, because functions that walk the tree recurse

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Returns the value of the \u escape at `at`, or -1 if there is none.
int escape_unit(std::string_view text, size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int unit = 0;
  for (size_t i = at + 2; i < at + 6; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    unit = unit << 4 | digit;
  }
  return unit;
}

// Corrects cJSON's offset of a missing key, which is one character too late. `text` is blanked, so none of its brackets
// belongs to a string.
size_t place_of_failure(std::string_view text, size_t reported) {
  if (reported == 0) return 0;
  const size_t found = reported - 1;
  const size_t before = text.substr(0, found).find_last_not_of(" \t\r\n");
  if (before == std::string_view::npos || (text[before] != '{' && text[before] != ',')) return reported;
  if (std::string_view("\" \t\r\n").find(text[found]) != std::string_view::npos) return reported;
  if (text[before] == '{') return text[found] == '}' ? reported : found;
  size_t closed = 0;  // closing brackets whose opening bracket is not yet reached
  for (size_t i = before; i-- > 0;) {
    if (text[i] == '}' || text[i] == ']') ++closed;
    else if ((text[i] == '{' || text[i] == '[') && closed-- == 0) return text[i] == '{' ? found : reported;
  }
  return reported;
}

}  // namespace

JsonDocument::JsonDocument(std::string_view text, const char *what) : text_(text), what_(what) {
  // must be UTF-8: the writer's replacements could make two keys equal
  for (size_t i = 0, length; i < text.size(); i += length)
    if (length = static_cast<uint8_t>(text[i]) < 0x80 ? 1 : utf8_length(text.substr(i)); !length)
      bad(i, "is not UTF-8");
  const std::string blanked = blank();
  const char *end = nullptr;
  errno = 0;  // cJSON does not report a failed allocation, but malloc() sets errno
  root_.reset(cJSON_ParseWithLengthOpts(blanked.c_str(), blanked.size() + 1, &end, true));
  if (!root_ && errno == ENOMEM) throw std::bad_alloc();
  if (!root_) bad(place_of_failure(blanked, end ? static_cast<size_t>(end - blanked.c_str()) : 0), "is malformed");
  size_t next = 0;
  number_tokens(root_.get(), next);
}

void JsonDocument::bad(size_t offset, std::string_view problem) const {
  fail(OPD_BAD_FORMAT, what_, ": JSON at offset ", offset, " ", problem);
}

// Replaces each number by 0 and each string by "", padded with spaces to the old length. JSON permits white space after
// any value.
std::string JsonDocument::blank() {
  std::string out(text_);
  size_t depth = 0;
  for (size_t i = 0; i < text_.size();) {
    const char c = text_[i];
    const bool quoted = c == '"';
    if (quoted || c == '-' || is_digit(c)) {
      const size_t end = quoted ? end_of_string(i) : end_of_number(i);
      tokens_.push_back({i, end - i});
      std::fill(out.begin() + static_cast<ptrdiff_t>(i), out.begin() + static_cast<ptrdiff_t>(end), ' ');
      out[i] = quoted ? '"' : '0';
      if (quoted) out[i + 1] = '"';
      i = end;
      continue;
    }
    if (c == '{' || c == '[') {
      if (++depth > kMostLevels) bad(i, concat("nests deeper than ", kMostLevels, " levels"));
    } else if (c == '}' || c == ']') {
      depth -= depth > 0;
    } else if (static_cast<uint8_t>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') {
      bad(i, "has a control character between values");
    }
    ++i;
  }
  return out;
}

size_t JsonDocument::end_of_string(size_t begin) const {
  for (size_t i = begin + 1; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '"') return i + 1;
    if (static_cast<uint8_t>(c) < 0x20) bad(i, "has a control character in a string; it must be escaped");
    if (c != '\\') continue;
    if (i + 1 < text_.size() && text_[i + 1] == 'u') {
      if (escape_unit(text_, i) < 0) bad(i, "has a \\u without four hexadecimal digits");
    } else if (i + 1 < text_.size() && std::string_view("\"\\/bfnrt").find(text_[i + 1]) == std::string_view::npos) {
      bad(i, "has an unknown escape");
    }
    ++i;
  }
  bad(begin, "begins a string that does not end");
}

size_t JsonDocument::end_of_number(size_t begin) const {
  size_t i = begin;
  const auto digits = [&] {
    const size_t first = i;
    while (i < text_.size() && is_digit(text_[i])) ++i;
    if (i == first) bad(begin, "begins a number that lacks digits");
    return i - first;
  };
  if (text_[i] == '-') ++i;
  const size_t whole = i;
  if (digits() > 1 && text_[whole] == '0') bad(begin, "begins a number with leading zeros");
  if (i < text_.size() && text_[i] == '.') ++i, digits();
  if (i < text_.size() && (text_[i] == 'e' || text_[i] == 'E')) {
    ++i;
    if (i < text_.size() && (text_[i] == '+' || text_[i] == '-')) ++i;
    digits();
  }
  // After blanking, a number that directly follows would merge with this one.
  if (i < text_.size() && std::string_view(" \t\r\n,]}").find(text_[i]) == std::string_view::npos)
    bad(i, "follows a number without a comma");
  return i;
}

// Stores in `valuedouble` the index of each item's first token: its key, else its value. A container without a key gets
// the index of the next token.
void JsonDocument::number_tokens(cJSON *item, size_t &next) {
  item->valuedouble = static_cast<double>(next);
  if (item->string) ++next;
  if (cJSON_IsString(item) || cJSON_IsNumber(item)) ++next;
  for (cJSON *child = item->child; child; child = child->next) number_tokens(child, next);
}

std::string_view JsonDocument::token(const cJSON *item, bool of_key) const {
  const size_t place = static_cast<size_t>(item->valuedouble) + (item->string && !of_key);
  return text_.substr(tokens_[place].offset, tokens_[place].size);
}

size_t JsonDocument::offset(const cJSON *item) const {
  const auto place = static_cast<size_t>(item->valuedouble);
  return place < tokens_.size() ? tokens_[place].offset : text_.size();
}

std::string JsonDocument::key(const cJSON *member) const { return decode(token(member, true)); }
std::string JsonDocument::text(const cJSON *string) const { return decode(token(string, false)); }
std::string_view JsonDocument::number(const cJSON *number) const { return token(number, false); }

int64_t JsonDocument::integer(const cJSON *item) const {
  const std::string_view digits = number(item);
  const std::optional<int64_t> value = number_in<int64_t>(digits);
  if (!value) bad(item, concat("has the number ", digits.substr(0, 60), "; a 64-bit integer is expected"));
  return *value;
}

double JsonDocument::real(const cJSON *item) const {
  if (cJSON_IsNull(item)) return std::numeric_limits<double>::quiet_NaN();
  const std::string_view digits = number(item);
  double value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc()) return value;
  // If a number is too large or too small for a double, the power of ten of its first non-zero digit decides.
  const size_t mantissa = std::min(digits.find_first_of("eE"), digits.size());
  const size_t point = std::min(digits.find('.'), mantissa), first = digits.find_first_of("123456789");
  int64_t power = static_cast<int64_t>(point) - static_cast<int64_t>(first), exponent = 0;
  if (mantissa < digits.size()) {
    const std::string_view written = digits.substr(mantissa + 1 + (digits[mantissa + 1] == '+'));
    if (std::from_chars(written.data(), written.data() + written.size(), exponent).ec != std::errc())
      exponent = written[0] == '-' ? INT64_MIN / 2 : INT64_MAX / 2;
  }
  value = power + exponent < 0 ? 0 : std::numeric_limits<double>::infinity();
  return digits[0] == '-' ? -value : value;
}

// An unpaired surrogate becomes U+FFFD, like invalid UTF-8 in the writer.
std::string JsonDocument::decode(std::string_view quoted) const {
  const std::string_view body = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(body.size());
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    const char kind = body[++i];
    if (kind != 'u') {
      constexpr std::string_view kNames = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
      out += kCharacters[kNames.find(kind)];
      continue;
    }
    auto point = static_cast<uint32_t>(escape_unit(body, i - 1));
    i += 4;
    const int low = point >= 0xD800 && point < 0xDC00 ? escape_unit(body, i + 1) : -1;
    if (low >= 0xDC00 && low < 0xE000) {
      point = 0x10000 + ((point - 0xD800) << 10) + (static_cast<uint32_t>(low) - 0xDC00);
      i += 6;
    }
    append_utf8(out, point >= 0xD800 && point < 0xE000 ? 0xFFFD : point);
  }
  return out;
}

std::string JsonDocument::compact(const cJSON *item) const {
  std::string out;
  append_compact(out, item);
  return out;
}

void JsonDocument::append_compact(std::string &out, const cJSON *item) const {
  if (cJSON_IsString(item) || cJSON_IsNumber(item)) return append(out, token(item, false));
  if (!cJSON_IsObject(item) && !cJSON_IsArray(item))
    return append(out, cJSON_IsNull(item) ? "null" : cJSON_IsTrue(item) ? "true" : "false");
  out += cJSON_IsObject(item) ? '{' : '[';
  for (const cJSON *child = item->child; child; child = child->next) {
    if (child != item->child) out += ',';
    if (child->string) append(out, token(child, true)), out += ':';
    append_compact(out, child);
  }
  out += cJSON_IsObject(item) ? '}' : ']';
}

}  // namespace opd
