// Builds text from parts, the same under every locale.
#pragma once
#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace opd {

inline void append(std::string &out, std::string_view text) { out += text; }
inline void append(std::string &out, char c) { out += c; }
void append(std::string &out, int64_t number);
void append(std::string &out, uint64_t number);
void append(std::string &out, double number);  // shortest text that reads back equal
template <std::signed_integral T>
requires(!std::same_as<T, char>) void append(std::string &out, T number) { append(out, int64_t{number}); }
template <std::unsigned_integral T>
requires(!std::same_as<T, bool>) void append(std::string &out, T number) { append(out, uint64_t{number}); }

// A part whose text is made only when the message is made. Checks pass such a part on each call, and few of them fail.
struct LatePart {
  void (*append)(std::string &out, const void *what);
  const void *what;
};

// A part held by reference, valid only during a call.
struct TextPart {
  enum Kind : uint8_t { kText, kChar, kSigned, kUnsigned, kDouble, kLate };
  TextPart(std::string_view t) : kind(kText), text(t) {}
  TextPart(const char *t) : TextPart(std::string_view(t)) {}
  TextPart(char c) : kind(kChar), character(c) {}
  TextPart(int64_t n) : kind(kSigned), signed_number(n) {}
  TextPart(uint64_t n) : kind(kUnsigned), unsigned_number(n) {}
  TextPart(double n) : kind(kDouble), real_number(n) {}
  TextPart(LatePart p) : kind(kLate), late(p) {}

  Kind kind;
  union {
    std::string_view text;
    char character;
    int64_t signed_number;
    uint64_t unsigned_number;
    double real_number;
    LatePart late;
  };
};
std::string concat_all(std::span<const TextPart> parts);

// Reduces parts to a few types. Each length of a literal is a different type, and integers have many widths. With one
// function per combination, messages were a tenth of the library's size.
inline const char *as_part(const char *text) { return text; }
inline std::string_view as_part(const std::string &text) { return text; }
inline std::string_view as_part(std::string_view text) { return text; }
inline char as_part(char c) { return c; }
inline double as_part(double number) { return number; }
inline LatePart as_part(LatePart part) { return part; }
template <std::signed_integral T>
requires(!std::same_as<T, char>) int64_t as_part(T number) { return number; }
template <std::unsigned_integral T>
requires(!std::same_as<T, bool>) uint64_t as_part(T number) { return number; }

template <class... Parts>
[[gnu::noinline]] std::string concat_parts(Parts... parts) {
  const TextPart all[] = {parts...};
  return concat_all(all);
}

template <class... Parts>
[[gnu::always_inline]] inline std::string concat(const Parts &...parts) {
  return concat_parts(as_part(parts)...);
}

// "a, b, c"; `items` are texts or numbers.
template <class Items>
std::string joined(const Items &items, std::string_view separator = ", ") {
  std::string out;
  for (bool is_first = true; const auto &item : items)
    append(out += std::exchange(is_first, false) ? "" : separator, item);
  return out;
}

// "1 argument", "2 arguments"
template <std::integral T>
std::string counted(T number, std::string_view noun) {
  return concat(number, " ", noun, number == 1 ? "" : "s");
}

// Returns the number that the whole text is.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// Appends the UTF-8 of a code point.
void append_utf8(std::string &out, uint32_t point);

// Appends a number with fixed decimals, like printf's %.*f in the C locale.
void append_fixed(std::string &out, double number, int decimals);

size_t edit_distance(std::string_view a, std::string_view b, size_t limit);
// Returns a suggestion for a message: the up to three names closest to `wanted`, as " Did you mean a, b?"; "" if none
// is within `most` edits.
template <class Names>
std::string suggestion(std::string_view wanted, const Names &names, size_t most = SIZE_MAX) {
  const size_t limit = std::min(most, std::max<size_t>(2, wanted.size() / 3));
  std::vector<std::pair<size_t, std::string_view>> close;
  for (const auto &name : names)
    if (size_t distance = edit_distance(wanted, name, limit); distance <= limit) close.emplace_back(distance, name);
  std::stable_sort(close.begin(), close.end(), [](auto &a, auto &b) { return a.first < b.first; });
  if (close.empty()) return "";
  std::string out = " Did you mean ";
  for (size_t i = 0; i < std::min<size_t>(3, close.size()); ++i) {
    if (i) out += ", ";
    out += close[i].second;
  }
  return out + "?";
}

}  // namespace opd
