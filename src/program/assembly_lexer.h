// Splits assembly text into tokens with line and column.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"

namespace opd {

struct Token {
  enum Kind { kEnd, kName, kRegister, kNumber, kString, kPunctuation } kind = kEnd;
  std::string_view text;  // registers: without %; strings: with quotes
  size_t line = 1, column = 1;
  bool is(std::string_view wanted) const { return (kind == kPunctuation || kind == kName) && text == wanted; }
};

class AssemblyLexer {
 public:
  explicit AssemblyLexer(std::string_view text) : text_(text) { advance(); }

  const Token &peek() const { return token_; }
  Token next();
  bool accept(std::string_view wanted);
  Token expect(std::string_view wanted);  // punctuation or a keyword
  Token expect(Token::Kind kind, const char *what);
  std::string expect_name(const char *what);  // a name, or a string if the name needs quotes
  std::string expect_string(const char *what);
  int64_t expect_int(const char *what);
  static std::string unquote(const Token &string);
  [[noreturn]] static void bad(const Token &at, std::string_view problem);

 private:
  void advance();
  void skip_blanks();

  std::string_view text_;
  size_t position_ = 0, line_ = 1, line_start_ = 0;
  Token token_;
};

bool is_plain_name(std::string_view text);  // whether the name needs no quotes

}  // namespace opd
