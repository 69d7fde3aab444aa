#include "cli/support/text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

namespace opd::cli {

namespace {

// Keeps `left` code points at the start, and as many at the end as then fit.
std::string without_middle(std::string_view text, size_t most, size_t left) {
  const size_t width = width_of(text), kept = most > 0 ? most - 1 : 0;
  if (width <= most) return std::string(text);
  size_t point = 0;
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) != 0x80) ++point;
    if (point == left + 1 && (text[i] & 0xC0) != 0x80) out += "…";
    if (point <= left || point > width - (kept - left)) out += text[i];
  }
  return out;
}

bool are_apart(const std::vector<std::string> &shown, const std::vector<std::string> &names) {
  std::map<std::string_view, std::string_view> name_of;
  for (size_t i = 0; i < names.size(); ++i)
    if (name_of.emplace(shown[i], names[i]).first->second != names[i]) return false;
  return true;
}

// Optimal string alignment: Levenshtein distance, but two swapped neighbours count once.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

template <class T>
std::optional<T> read_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string counted(int64_t number, std::string_view noun) { return cat(number, " ", noun, number == 1 ? "" : "s"); }

std::string join(const std::vector<std::string> &parts, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += between;
    out += parts[i];
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator, std::string_view opening,
                                    std::string_view closing) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (contains(opening, text.substr(i, 1))) ++open;
    if (contains(closing, text.substr(i, 1))) --open;
    if (text[i] != separator || open > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

bool is_word(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && !is_digit(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || is_digit(c) || c == '.'; });
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view spaces = " \t\n\r";
  const size_t first = text.find_first_not_of(spaces);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(spaces) + 1 - first);
}

std::string lower_case(std::string text) {
  for (char &c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string pad_left(std::string_view text, size_t width) {
  return cat(std::string(width - std::min(width, width_of(text)), ' '), text);
}

std::string pad_right(std::string_view text, size_t width) {
  return cat(text, std::string(width - std::min(width, width_of(text)), ' '));
}

std::string wrapped(std::string_view text, size_t column, size_t width) {
  std::string out;
  size_t used = column;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (used > column && used + 1 + width_of(word) > width) {
      out += cat("\n", std::string(column, ' '));
      used = column;
    } else if (used > column) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width_of(word);
  }
  return out;
}

std::string fitted(std::string_view text, size_t width) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (width_of(line) <= width || indent >= width / 2) append(out, line);
    else out += cat(line.substr(0, indent), wrapped(line.substr(indent), indent, width));
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string shortened(std::string_view text, size_t most) {
  const size_t kept = most > 0 ? most - 1 : 0;
  return without_middle(text, most, kept - kept / 3);
}

std::vector<std::string> shortened_apart(const std::vector<std::string> &names, size_t most) {
  std::vector<std::string> shown = mapped(names, [&](const std::string &name) { return shortened(name, most); });
  for (size_t left = most; left-- > 0 && !are_apart(shown, names);)
    for (size_t i = 0; i < names.size(); ++i) shown[i] = without_middle(names[i], most, left);
  if (are_apart(shown, names)) return shown;
  // The names differ in several places, so no cut shows all of them. They are numbered instead.
  std::map<std::string_view, size_t> numbers;
  for (const std::string &name : names) numbers.emplace(name, numbers.size() + 1);
  for (size_t i = 0; i < names.size(); ++i) {
    if (width_of(names[i]) <= most) continue;
    const std::string number = cat("~", numbers[names[i]]);
    shown[i] = shortened(names[i], most - std::min(most, number.size())) + number;
  }
  return shown;
}

std::string fixed(double number, int decimals) {
  if (!(std::abs(number) < 1e15)) return significant(number, 6);
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed, decimals).ptr};
}

std::string significant(double number, int precision) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, precision).ptr};
}

std::string printable(std::string_view text, bool is_one_line) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_long = byte == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F are control characters, too
    const bool is_layout = !is_one_line && (byte == '\n' || byte == '\t');
    out += (byte < 0x20 && !is_layout) || byte == 0x7F || is_long ? ' ' : text[i];
    i += is_long;
  }
  return out;
}

std::string signal_name(int signal) { return cat("signal ", signal, " (", strsignal(signal), ")"); }

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    if (c == '\'') out += "'\\''";
    else out += c;
  return out + "'";
}

std::string markdown_text(std::string_view text) {
  const auto is_word = [](char c) {
    return static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  };
  const std::string plain = printable(text);
  std::string out;
  for (size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i], last = i ? plain[i - 1] : ' ', next = i + 1 < plain.size() ? plain[i + 1] : ' ';
    if (std::string_view("\\`*|~$<&").find(c) != std::string_view::npos ||
        (c == '_' && !(is_word(last) && is_word(next))) ||
        (c == ']' && std::string_view("([:").find(next) != std::string_view::npos))
      out += '\\';
    out += c;
  }
  return out;
}

std::optional<int64_t> read_int(std::string_view text) { return read_number<int64_t>(text); }
std::optional<double> read_double(std::string_view text) { return read_number<double>(text); }

std::optional<int64_t> read_duration(std::string_view text) {
  constexpr std::pair<std::string_view, double> units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                                                           {"s", 1},     {"m", 60},    {"h", 3600}};
  double factor = 1;
  if (const auto unit = std::ranges::find_if(units, [&](const auto &one) { return text.ends_with(one.first); });
      unit != std::end(units)) {
    factor = unit->second;
    text.remove_suffix(unit->first.size());
  }
  const std::optional<double> number = read_double(text);
  if (!number || !(*number > 0) || *number * factor > 1e9)
    return std::nullopt;  // nanoseconds of the clock must not overflow
  return std::max<int64_t>(1, std::llround(*number * factor * 1e9));
}

std::optional<uint64_t> read_bytes(std::string_view text) {
  int shift = 0;
  if (text.ends_with("iB")) text.remove_suffix(2);
  else if (text.ends_with('B')) text.remove_suffix(1);
  if (!text.empty()) {
    const size_t place = std::string_view("KMGT").find(text.back());
    if (place != std::string_view::npos) {
      shift = 10 * static_cast<int>(place + 1);
      text.remove_suffix(1);
    }
  }
  const std::optional<int64_t> number = read_int(text);
  if (!number || *number <= 0 || *number > (INT64_MAX >> shift)) return std::nullopt;
  return static_cast<uint64_t>(*number) << shift;
}

std::string suggest(std::string_view wanted, const std::vector<std::string> &names) {
  const std::string *best = nullptr;
  const size_t dashes = std::min(wanted.find_first_not_of('-'), wanted.size());
  size_t best_distance = std::max<size_t>(1, (wanted.size() - dashes) / 3) + 1;
  for (const std::string &name : names) {
    const size_t distance = edit_distance(wanted, name);
    if (distance >= best_distance || distance >= name.size()) continue;
    best = &name;
    best_distance = distance;
  }
  return best ? cat(" Did you mean '", *best, "'?") : "";
}

}  // namespace opd::cli
