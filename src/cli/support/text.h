// Builds text from parts; splits, wraps, shortens and quotes text; reads and writes numbers the same way under every
// locale.
#pragma once
#include <charconv>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace opd::cli {

inline void append(std::string &out, std::string_view part) { out += part; }
inline void append(std::string &out, char part) { out += part; }
template <std::same_as<bool> T>
void append(std::string &out, T part) = delete;  // a bool would become a character
template <std::integral T>
requires(!std::same_as<T, char> && !std::same_as<T, bool>) void append(std::string &out, T number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}
template <std::floating_point T>
void append(std::string &out, T number) {  // shortest text that reads back equal
  char digits[64];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

template <class... Parts>
std::string cat(const Parts &...parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

// "1 register", "2 registers"
std::string counted(int64_t number, std::string_view noun);
std::string join(const std::vector<std::string> &parts, std::string_view between);
// What `make` makes of each item; a function, or a pointer to a member.
template <class Range, class Make>
auto mapped(const Range &all, const Make &make) {
  std::vector<std::decay_t<std::invoke_result_t<Make, decltype(*std::begin(all))>>> made;
  for (const auto &one : all) made.push_back(std::invoke(make, one));
  return made;
}
template <class Range>
std::vector<std::string> names_of(const Range &all) {
  return mapped(all, [](const auto &one) { return std::string(one.name); });
}
inline std::vector<const char *> c_strings(const std::vector<std::string> &texts) {
  return mapped(texts, [](const std::string &text) { return text.c_str(); });
}
// Splits at `separator` where no parenthesis is open; "" gives one empty part. `opening` and `closing`: the parentheses.
std::vector<std::string_view> split(std::string_view text, char separator, std::string_view opening = "(",
                                    std::string_view closing = ")");
inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
bool is_word(std::string_view text);  // letters of ASCII, digits, "_" and "."; the first one is no digit
std::string_view trim(std::string_view text);
std::string lower_case(std::string text);  // changes only letters of ASCII

// Widths are in code points.
size_t width_of(std::string_view text);
std::string pad_left(std::string_view text, size_t width);
std::string pad_right(std::string_view text, size_t width);
// Breaks `text` at spaces into lines of at most `width`. The first line begins at `column`, and the others are indented
// to it. A longer word has its own line.
std::string wrapped(std::string_view text, size_t column, size_t width);
// Breaks the lines that are wider than `width`.
std::string fitted(std::string_view text, size_t width);
// At most `most` code points: the middle is replaced by "…", because names differ at their ends.
std::string shortened(std::string_view text, size_t most);
// Shortens the names in one column so that different names stay different.
std::vector<std::string> shortened_apart(const std::vector<std::string> &names, size_t most);

std::string fixed(double number, int decimals);      // 12.30; from 1e15 on 1.23457e+18, to keep cells narrow
std::string significant(double number, int digits);  // the form of printf's %.*g

// Makes text from outside safe for the terminal: control characters become spaces. With `is_one_line` false, line
// breaks and tabs are kept.
std::string printable(std::string_view text, bool is_one_line = true);
// Makes text safe for a Markdown table or list, too. Brackets and underscores are escaped only where Markdown would
// interpret them, so that shapes and names of functions stay readable.
std::string markdown_text(std::string_view text);

std::string signal_name(int signal);  // "signal 11 (Segmentation fault)"
// Quotes a word with ' for a command line of sh, bash and zsh.
std::string shell_quoted(std::string_view text);
// A field of CSV: quoted if RFC 4180 requires it.
std::string csv_field(std::string_view text);

// The whole text must be a number; nullopt otherwise.
std::optional<int64_t> read_int(std::string_view text);
std::optional<double> read_double(std::string_view text);
// Reads "250ms", "5s", "2m", "1h", or seconds without a unit. Returns nanoseconds.
std::optional<int64_t> read_duration(std::string_view text);
// Reads "4096", "64K", "512M" or "2G" (powers of 1024).
std::optional<uint64_t> read_bytes(std::string_view text);

// " Did you mean 'run'?" for the closest of `names`, "" if none is close.
std::string suggest(std::string_view wanted, const std::vector<std::string> &names);

}  // namespace opd::cli
