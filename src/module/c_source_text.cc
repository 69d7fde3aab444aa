#include "module/c_source_text.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <iterator>

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
        std::ranges::find(names, name) == names.end())
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

// ---- command lines

namespace {

constexpr std::string_view kWithValue[] = {
    "-A",
    "-B",
    "-D",
    "-I",
    "-MF",
    "-MQ",
    "-MT",
    "-U",
    "-Xassembler",
    "-Xclang",
    "-Xpreprocessor",
    "-aux-info",
    "-idirafter",
    "-imacros",
    "-include",
    "-include-pch",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-mllvm",
    "-specs",
    "-target",
    "-wrapper",
    "-x",
    "--define-macro",
    "--imacros",
    "--include",
    "--include-directory",
    "--include-directory-after",
    "--param",
    "--sysroot",
    "--undefine-macro",
};
constexpr std::string_view kOfLinkerWithValue[] = {"-L", "-T", "-Xlinker", "-e",
                                                   "-l", "-u", "-z",       "--library-directory"};
constexpr std::string_view kUnknownFiles[] = {
    "@",
    "-B",
    "-T",
    "-Xlinker",
    "-Xclang",
    "-Xassembler",
    "-Wa,",
    "-Wl,-T",
    "-Wl,--script",
    "-Wl,-dT",
    "-Wl,@",
    "-Wl,-plugin",
    "-Wl,--plugin",
    "-fauto-profile",
    "-fbranch-probabilities",
    "-fplugin",
    "-fprofile-use",
    "-fprofile-instr-use",
    "-include-pch",
    "-ivfsoverlay",
    "-specs",
    "--specs",
    "-wrapper",
    "-fmodule",
    "-save-temps",
};

}  // namespace

bool takes_next_word(std::string_view option) {
  const auto is_it = [&](std::string_view known) { return known == option; };
  return std::ranges::any_of(kWithValue, is_it) || std::ranges::any_of(kOfLinkerWithValue, is_it);
}

void split_flags(const std::vector<std::string> &words, std::vector<std::string> &options,
                 std::vector<std::string> &libraries) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    const bool is_of_linker = std::ranges::find(kOfLinkerWithValue, word) != std::end(kOfLinkerWithValue);
    const bool is_library =
        is_of_linker || word.starts_with("-l") || word.starts_with("-Wl,") || (word[0] != '-' && word[0] != '@');
    auto &group = is_library ? libraries : options;
    group.push_back(word);
    if (takes_next_word(word) && i + 1 < words.size()) group.push_back(words[++i]);
  }
}

bool leads_to_unknown_files(std::string_view word) {
  return std::ranges::any_of(kUnknownFiles, [&](std::string_view start) { return word.starts_with(start); });
}

std::vector<std::string> files_named_by(const std::vector<std::string> &words) {
  std::vector<std::string> files;
  const auto add = [&](const std::string &path) {
    struct stat info {};
    if (!path.empty() && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) files.push_back(path);
  };
  for (const auto &word : words) {
    add(word);
    for (size_t at = 0; (at = word.find_first_of("=,", at)) != std::string::npos;) {
      ++at;
      add(word.substr(at, word.find_first_of("=,", at) - at));
    }
  }
  return files;
}

// Whether the text may have a directive that reads files. The compiler joins adjacent string literals, so ".inc" "bin"
// counts, too.
bool may_read_files(std::string_view text) {
  for (const char *directive : {"#embed", "#include", "#import"})
    if (text.find(directive) != std::string_view::npos) return true;
  for (size_t at = 0; (at = text.find("asm", at)) != std::string_view::npos; at += 3) {
    const size_t after = text.find_first_not_of('_', at + 3);
    if (after == std::string_view::npos || is_identifier(text[after])) continue;
    const size_t before = text.find_last_not_of('_', at - (at > 0));
    if (at > 0 && before != std::string_view::npos && is_identifier(text[before]) && text[before] != '_') continue;
    std::string assembly;
    bool is_quoted = false;
    for (size_t i = after; i < text.size() && (is_quoted || text[i] != ';'); ++i) {
      if (text[i] == '"') is_quoted = !is_quoted;
      else if (is_quoted) assembly += text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
      if (is_quoted && text[i] == '\\' && i + 1 < text.size()) assembly += text[++i];
    }
    // An assembler macro or an escape in the literal can produce the name of a directive.
    for (const char *sign : {".inc", ".macro", ".irp", ".altmacro", "\\x", "\\u"})
      if (assembly.find(sign) != std::string::npos) return true;
    for (size_t i = 0; i + 1 < assembly.size(); ++i)
      if (assembly[i] == '\\' && assembly[i + 1] >= '0' && assembly[i + 1] <= '7') return true;
  }
  return false;
}

}  // namespace opd
