#include "program/assembly_lexer.h"

#include <charconv>

namespace opd {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c) || c == '$'; }
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

bool is_plain_name(std::string_view text) {
  if (text.empty() || !is_name_start(text[0]) || text[0] == '.') return false;
  for (const char c : text)
    if (!is_name_part(c)) return false;
  return true;
}

void AssemblyLexer::bad(const Token &at, std::string_view problem) {
  fail(OPD_BAD_FORMAT, "assembly line ", at.line, ", column ", at.column, ": ", problem);
}

void AssemblyLexer::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ';') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else if (c == '\n') {
      ++line_;
      line_start_ = ++position_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++position_;
    } else {
      return;
    }
  }
}

void AssemblyLexer::advance() {
  skip_blanks();
  token_ = {Token::kEnd, {}, line_, position_ - line_start_ + 1};
  if (position_ == text_.size()) return;
  const size_t start = position_;
  const auto at = [&](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  const char c = text_[start];
  const auto take_name = [&] {
    while (position_ < text_.size() && is_name_part(text_[position_])) ++position_;
  };
  size_t from = start;
  if (c == '%') {
    token_.kind = Token::kRegister;
    from = ++position_;
    take_name();
    if (position_ == from) bad(token_, "a register needs a name or number after %");
  } else if (is_digit(c) || ((c == '-' || c == '+') && (is_digit(at(start + 1)) || is_name_start(at(start + 1))))) {
    token_.kind = Token::kNumber;  // the assembler parses it when the type is known
    for (++position_; is_name_part(at(position_)) || ((at(position_) == '-' || at(position_) == '+') &&
                                                      (at(position_ - 1) == 'e' || at(position_ - 1) == 'E') &&
                                                      !text_.substr(start).starts_with("0x"));)
      ++position_;
  } else if (is_name_start(c)) {
    token_.kind = Token::kName;
    take_name();
  } else if (c == '"') {
    token_.kind = Token::kString;
    for (++position_; at(position_) != '"'; ++position_) {
      if (at(position_) == '\\') ++position_;
      if (position_ >= text_.size() || text_[position_] == '\n') bad(token_, "this string does not end on its line");
    }
    ++position_;
  } else {
    token_.kind = Token::kPunctuation;
    ++position_;
  }
  token_.text = text_.substr(from, position_ - from);
}

Token AssemblyLexer::next() {
  const Token token = token_;
  advance();
  return token;
}

bool AssemblyLexer::accept(std::string_view wanted) {
  if (!token_.is(wanted)) return false;
  advance();
  return true;
}

Token AssemblyLexer::expect(std::string_view wanted) {
  if (!token_.is(wanted))
    bad(token_, concat("expected ", wanted,
                       token_.kind == Token::kEnd ? " before the end" : concat(", not ", token_.text.substr(0, 40))));
  return next();
}

Token AssemblyLexer::expect(Token::Kind kind, const char *what) {
  if (token_.kind != kind)
    bad(token_, concat("expected ", what,
                       token_.kind == Token::kEnd ? " before the end" : concat(", not ", token_.text.substr(0, 40))));
  return next();
}

std::string AssemblyLexer::expect_name(const char *what) {
  if (token_.kind == Token::kString) return unquote(next());
  return std::string(expect(Token::kName, what).text);
}

std::string AssemblyLexer::expect_string(const char *what) { return unquote(expect(Token::kString, what)); }

int64_t AssemblyLexer::expect_int(const char *what) {
  const Token token = expect(Token::kNumber, what);
  std::string_view digits = token.text;
  if (digits.starts_with("+")) digits.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    bad(token, concat(token.text, " is not a 64-bit integer"));
  return value;
}

std::string AssemblyLexer::unquote(const Token &string) {
  std::string out;
  const std::string_view body = string.text.substr(1, string.text.size() - 2);
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    const char escape = ++i < body.size() ? body[i] : '\0';
    constexpr std::string_view kNames = "ntr\"\\", kCharacters = "\n\t\r\"\\";
    if (const size_t place = kNames.find(escape); place != std::string_view::npos) {
      out += kCharacters[place];
      continue;
    }
    if (escape != 'x') bad(string, "strings know the escapes \\n \\t \\r \\\" \\\\ \\xHH");
    const int high = i + 1 < body.size() ? hex_digit(body[i + 1]) : -1,
              low = i + 2 < body.size() ? hex_digit(body[i + 2]) : -1;
    if (high < 0 || low < 0) bad(string, "\\x needs two hexadecimal digits");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace opd
