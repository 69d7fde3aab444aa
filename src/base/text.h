// Text made of parts, the same under every locale.
#pragma once
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace opd {

inline void append(std::string &out, std::string_view text) { out += text; }
inline void append(std::string &out, char c) { out += c; }
template <std::integral T>
requires(!std::same_as<T, char> && !std::same_as<T, bool>) void append(std::string &out, T number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}
inline void append(std::string &out, double number) {  // shortest text that reads back equal
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

template <class... Parts>
std::string concat(const Parts &...parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

// "1 argument", "2 arguments"
template <std::integral T>
std::string counted(T number, std::string_view noun) {
  return concat(number, " ", noun, number == 1 ? "" : "s");
}

// Adds digits with a fixed number after the point, as printf's %.*f in the C locale.
void append_fixed(std::string &out, double number, int decimals);

// "did you mean" part of a message: the up to three names closest to `wanted`, as " Did you mean a, b?"; "" if none is
// close.
template <class Names>
std::string suggestion(std::string_view wanted, const Names &names);
size_t edit_distance(std::string_view a, std::string_view b, size_t limit);

}  // namespace opd

#include "base/text_inl.h"
