#include "module/c_source_text.h"

#include <algorithm>
#include <charconv>

#include "module/function_names.h"

namespace opd {
namespace {

// The size of the string literal or character constant at the start of `text`. It also ends at the end of the line.
size_t literal_size(std::string_view text) {
  size_t at = 1;
  while (at < text.size() && text[at] != text[0] && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// The source with comments, string literals and character constants replaced by one space each.
std::string code_only(std::string_view source) {
  std::string out;
  for (size_t at = 0; at < source.size();) {
    const std::string_view rest = source.substr(at);
    size_t size = 1;
    if (rest.starts_with("//")) size = rest.find('\n');
    else if (rest.starts_with("/*")) size = std::min(rest.find("*/", 2), rest.size() - 2) + 2;
    else if (rest[0] == '"' || rest[0] == '\'') size = literal_size(rest);
    out += size == 1 ? rest[0] : ' ';
    at += std::min(size, rest.size());
  }
  return out;
}

// Removes `word`, and white space before it, from the front of `text`. Returns false if `word` is not there.
bool take(std::string_view &text, std::string_view word) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (!text.substr(begin).starts_with(word)) return false;
  text.remove_prefix(begin + word.size());
  return true;
}

bool take_number(std::string_view &text, size_t &number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

bool is_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string> functions_named_in(std::string_view c_source) {
  std::vector<std::string> names;
  const std::string code = code_only(c_source);
  for (size_t at = 0; (at = code.find(kFunctionPrefix, at)) != std::string::npos;) {
    const size_t begin = at + kFunctionPrefix.size();
    const bool is_start = at == 0 || !is_identifier(code[at - 1]);
    at = begin;
    while (at < code.size() && is_identifier(code[at])) ++at;
    const std::string name = code.substr(begin, at - begin);
    const size_t next = code.find_first_not_of(" \t\n", at);
    if (is_start && !name.empty() && !is_special_name(name) && next != std::string::npos && code[next] == '(' &&
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  return names;
}

std::string bytes_written_in(std::string_view c_source, std::string_view array) {
  for (size_t at = 0; (at = c_source.find(array, at)) != std::string_view::npos; ++at) {
    std::string_view rest = c_source.substr(at + array.size());
    size_t count = 0, byte = 0;
    if (!take(rest, "[") || !take_number(rest, count, 10) || !take(rest, "]") || !take(rest, "=") || !take(rest, "{"))
      continue;
    std::string bytes;
    while (bytes.size() < count && take(rest, "0x") && take_number(rest, byte, 16) && byte < 256) {
      bytes += static_cast<char>(byte);
      take(rest, ",");
    }
    if (bytes.size() == count && take(rest, "}")) return bytes;
  }
  return {};
}

}  // namespace opd
