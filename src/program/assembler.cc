// Converts assembly text to an executable, see docs/assembly.md.
#include <bit>
#include <charconv>

#include "device/device.h"
#include "program/builder.h"

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

struct Token {
  enum Kind { kEnd, kName, kRegister, kNumber, kString, kPunctuation } kind = kEnd;
  std::string_view text;  // registers: without %; strings: with quotes
  size_t line = 1, column = 1;
  bool is(std::string_view wanted) const { return (kind == kPunctuation || kind == kName) && text == wanted; }
};

// Splits assembly text into tokens with line and column.
class AssemblyLexer {
 public:
  explicit AssemblyLexer(std::string_view text) : text_(text) { advance(); }

  const Token &peek() const { return token_; }
  Token next() {
    const Token token = token_;
    advance();
    return token;
  }

  bool accept(std::string_view wanted) {
    if (!token_.is(wanted)) return false;
    advance();
    return true;
  }

  Token expect(std::string_view wanted) { return take(token_.is(wanted), wanted); }  // punctuation or a keyword
  Token expect(Token::Kind kind, const char *what) { return take(token_.kind == kind, what); }
  // a name, or a string if the name needs quotes
  std::string expect_name(const char *what) {
    if (token_.kind == Token::kString) return unquote(next());
    return std::string(expect(Token::kName, what).text);
  }

  std::string expect_string(const char *what) { return unquote(expect(Token::kString, what)); }
  int64_t expect_int(const char *what) {
    const Token token = expect(Token::kNumber, what);
    std::string_view digits = token.text;
    if (digits.starts_with("+")) digits.remove_prefix(1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      bad(token, concat(token.text, " is not a 64-bit integer"));
    return value;
  }

  static std::string unquote(const Token &string) {
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
      if (escape != 'x') bad(string, "the escapes of strings are \\n \\t \\r \\\" \\\\ \\xHH");
      const int high = i + 1 < body.size() ? hex_digit(body[i + 1]) : -1,
                low = i + 2 < body.size() ? hex_digit(body[i + 2]) : -1;
      if (high < 0 || low < 0) bad(string, "\\x needs two hexadecimal digits");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
    return out;
  }

  [[noreturn]] static void bad(const Token &at, std::string_view problem) {
    fail(OPD_BAD_FORMAT, "assembly line ", at.line, ", column ", at.column, ": ", problem);
  }

 private:
  void advance() {
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

  // wanted: for the message
  Token take(bool is_expected, std::string_view wanted) {
    if (!is_expected)
      bad(token_, concat("expected ", wanted,
                         token_.kind == Token::kEnd ? " before the end" : concat(", not ", token_.text.substr(0, 40))));
    return next();
  }

  void skip_blanks() {
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

  std::string_view text_;
  size_t position_ = 0, line_ = 1, line_start_ = 0;
  Token token_;
};

class Assembler {
 public:
  explicit Assembler(std::string_view text) : lexer_(text), builder_(make_object<Builder>()) {}

  Ref<Executable> run() {
    if (lexer_.accept(".executable"))
      if (const Token at = lexer_.peek(); lexer_.expect_string("a version") != "0.14")
        AssemblyLexer::bad(at, "the version must be \"0.14\"");
    while (lexer_.peek().kind != Token::kEnd) directive();
    return builder_->get();
  }

 private:
  void directive() {
    if (lexer_.accept(".declare")) {
      builder_->add_function(lexer_.expect_name("a function name"));
    } else if (lexer_.accept(".const")) {
      lexer_.expect("=");
      const Token at = lexer_.peek();
      Value value;
      if (!parse_constant(value))
        AssemblyLexer::bad(at, "expected a constant: shape(), dtype(), i64(), f64(), tensor() or a string");
      builder_->append_constant(std::move(value));
      ++num_constants_;
    } else if (lexer_.accept(".scope")) {
      lexer_.expect("c");
      const int64_t index = parse_index();
      builder_->add_scope(index, lexer_.expect_string("a memory scope"));
    } else if (lexer_.accept(".func")) {
      function();
    } else {
      AssemblyLexer::bad(lexer_.peek(),
                         concat("expected .declare, .const, .scope or .func (.executable comes first), not ",
                                lexer_.peek().text.substr(0, 40)));
    }
  }

  int64_t parse_index() {
    lexer_.expect("[");
    const int64_t index = lexer_.expect_int("an index");
    lexer_.expect("]");
    return index;
  }

  // ---- functions

  void function() {
    const Token at = lexer_.peek();
    const std::string name = lexer_.expect_name("a function name");
    registers_.clear();
    labels_.clear();
    jumps_.clear();
    uses_numbers_ = uses_names_ = false;
    std::vector<std::string> params;
    lexer_.expect("(");
    while (!lexer_.accept(")")) {
      if (!params.empty()) lexer_.expect(",");
      params.push_back(lexer_.expect_name("a parameter name"));
      registers_.emplace(params.back(), static_cast<int64_t>(params.size()) - 1);
    }
    num_params_ = next_register_ = static_cast<int64_t>(params.size());
    int64_t registers = 0;
    if (lexer_.accept("regs")) {
      lexer_.expect("=");
      registers = lexer_.expect_int("a number of registers");
    }
    try {
      builder_->begin_function(name, std::move(params));
    } catch (const Exception &e) { AssemblyLexer::bad(at, e.error()->message); }
    builder_->set_num_registers(registers);
    lexer_.expect("{");
    while (!lexer_.accept("}")) statement();
    resolve_jumps();
    builder_->end_function();
  }

  void statement() {
    if (lexer_.peek().kind == Token::kRegister) {
      const int64_t dst = parse_register(lexer_.next());
      lexer_.expect("=");
      lexer_.expect("call");
      return call(dst);
    }
    const Token word = lexer_.expect(Token::kName, "an instruction or label");
    if (lexer_.accept(":")) {
      if (!labels_.emplace(word.text, builder_->next_instruction()).second)
        AssemblyLexer::bad(word, concat("the label ", word.text, " is there already"));
    } else if (word.text == "call") {
      call(kVoidRegister);
    } else if (word.text == "ret") {
      builder_->emit_ret(parse_register(lexer_.expect(Token::kRegister, "a register")));
    } else if (word.text == "goto") {
      const Token label = lexer_.expect(Token::kName, "a label");
      jumps_.push_back({builder_->next_instruction(), label});
      builder_->emit_goto(0);
    } else if (word.text == "if") {
      const int64_t condition = parse_register(lexer_.expect(Token::kRegister, "a register"));
      lexer_.expect("else");
      const Token label = lexer_.expect(Token::kName, "a label");
      jumps_.push_back({builder_->next_instruction(), label});
      builder_->emit_if(condition, 0);
    } else {
      AssemblyLexer::bad(word, concat(word.text, " is not an instruction (call, ret, goto, if) nor followed by ':'"));
    }
  }

  void call(int64_t dst) {
    const std::string callee = lexer_.expect_name("a function name");
    std::vector<Operand> args;
    lexer_.expect("(");
    while (!lexer_.accept(")")) {
      if (!args.empty()) lexer_.expect(",");
      args.push_back(parse_operand());
    }
    builder_->emit_call(callee, args, dst);
  }

  void resolve_jumps() {
    for (const auto &[instruction, label] : jumps_) {
      const auto found = labels_.find(label.text);
      if (found == labels_.end())
        AssemblyLexer::bad(label, concat("there is no label ", label.text, " in this function"));
      builder_->patch(instruction, static_cast<int64_t>(found->second) - static_cast<int64_t>(instruction));
    }
  }

  // ---- operands

  int64_t parse_register(const Token &token) {
    if (token.text == "vm") return kVmRegister;
    if (token.text == "void") return kVoidRegister;
    if (const auto found = registers_.find(token.text); found != registers_.end()) return found->second;
    int64_t number = 0;
    const char *end = token.text.data() + token.text.size();
    const auto parsed = std::from_chars(token.text.data(), end, number);
    const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
    if (is_number && (number < 0 || number >= int64_t{1} << 20))
      AssemblyLexer::bad(token, concat("there is no register %", token.text));
    if (!is_number) number = next_register_++, registers_.emplace(token.text, number);
    if (number >= num_params_) (is_number ? uses_numbers_ : uses_names_) = true;
    if (uses_numbers_ && uses_names_)
      AssemblyLexer::bad(token, "one function cannot have both numbered and named registers beside its parameters");
    return number;
  }

  Operand parse_operand() {
    const Token token = lexer_.peek();
    if (token.kind == Token::kRegister) return Operand::make(Operand::kRegister, parse_register(lexer_.next()));
    if (token.kind == Token::kNumber) {
      const int64_t value = lexer_.expect_int("an immediate");
      if (!Operand::fits(value))
        AssemblyLexer::bad(token,
                           concat(token.text, " does not fit an immediate's 56 bits; write i64(", token.text, ")"));
      return Operand::make(Operand::kImmediate, value);
    }
    if (lexer_.accept("@")) return builder_->add_function(lexer_.expect_name("a function name"));
    if (token.is("c")) {
      lexer_.next();
      const int64_t index = parse_index();
      if (index < 0 || index >= num_constants_)
        AssemblyLexer::bad(token, concat("constant ", index, " of ", num_constants_, " declared by .const"));
      return Operand::make(Operand::kConstant, index);
    }
    Value value;
    if (parse_constant(value)) return builder_->add_constant(value);
    AssemblyLexer::bad(
        token, concat("expected an operand, not ", token.kind == Token::kEnd ? "the end" : token.text.substr(0, 40)));
  }

  bool parse_constant(Value &out) {
    if (lexer_.peek().kind == Token::kString) return out = Value(lexer_.expect_string("a string")), true;
    if (lexer_.accept("shape")) return out = Value(Shape::make(parse_dims())), true;
    if (lexer_.accept("tensor")) return out = parse_tensor(), true;
    if (lexer_.accept("dtype")) {
      lexer_.expect("(");
      out = parse_dtype_name();
    } else if (lexer_.accept("i64")) {
      lexer_.expect("(");
      out = lexer_.expect_int("an integer");
    } else if (lexer_.accept("f64")) {
      lexer_.expect("(");
      out = parse_double();
    } else {
      return false;
    }
    lexer_.expect(")");
    return true;
  }

  std::vector<int64_t> parse_dims() {
    std::vector<int64_t> dims;
    lexer_.expect("(");
    while (!lexer_.accept(")")) {
      if (!dims.empty()) lexer_.expect(",");
      dims.push_back(lexer_.expect_int("a size"));
    }
    return dims;
  }

  DLDataType parse_dtype_name() {
    const Token at = lexer_.peek();
    try {
      return parse_dtype(lexer_.expect_name("a dtype"));
    } catch (const Exception &e) { AssemblyLexer::bad(at, e.error()->message); }
  }

  double parse_double() {
    const Token token = lexer_.peek().kind == Token::kName ? lexer_.next() : lexer_.expect(Token::kNumber, "a number");
    std::string_view digits = token.text;
    const char *end = digits.data() + digits.size();
    if (digits.starts_with("0x")) {  // the bits of numbers without an exact decimal form, such as NaNs with a payload
      uint64_t bits = 0;
      const auto parsed = std::from_chars(digits.data() + 2, end, bits, 16);
      if (parsed.ec != std::errc() || parsed.ptr != end)
        AssemblyLexer::bad(token, concat(token.text, " is not a number"));
      return std::bit_cast<double>(bits);
    }
    double value = 0;
    if (digits.starts_with("+")) digits.remove_prefix(1);
    const auto parsed = std::from_chars(digits.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end)
      AssemblyLexer::bad(token, concat(token.text, " is not a number"));
    return value;
  }

  // Parses tensor(float32, (2, 2), 0x0000803f…), which has the bytes of the elements.
  Value parse_tensor() {
    lexer_.expect("(");
    const DLDataType dtype = parse_dtype_name();
    lexer_.expect(",");
    const std::vector<int64_t> dims = parse_dims();
    lexer_.expect(",");
    const Token data = lexer_.expect(Token::kNumber, "the elements' bytes as 0x…");
    lexer_.expect(")");
    uint64_t bytes = 0;
    const bool sized = compact_bytes(dims, dtype, bytes);
    const std::string_view digits = data.text.starts_with("0x") ? data.text.substr(2) : std::string_view();
    if (!sized || digits.size() / 2 != bytes || digits.size() % 2)
      AssemblyLexer::bad(data, concat(digits.size() / 2, " bytes are given for a tensor of ", bytes));
    auto tensor = make_tensor(dims, dtype, kHost, MemoryUse::kParameter);
    for (size_t i = 0; i < bytes; ++i) {
      const auto parsed =
          std::from_chars(&digits[2 * i], &digits[2 * i] + 2, static_cast<uint8_t *>(tensor->dl.data)[i], 16);
      if (parsed.ptr != &digits[2 * i] + 2) AssemblyLexer::bad(data, "the elements' bytes are not hexadecimal");
    }
    return Value(std::move(tensor));
  }

  struct Jump {
    size_t instruction;
    Token label;
  };

  AssemblyLexer lexer_;
  Ref<Builder> builder_;
  std::map<std::string, int64_t, std::less<>> registers_;
  std::map<std::string_view, size_t> labels_;
  std::vector<Jump> jumps_;
  int64_t num_params_ = 0, next_register_ = 0, num_constants_ = 0;
  bool uses_numbers_ = false, uses_names_ = false;
};

}  // namespace

bool is_plain_name(std::string_view text) {
  if (text.empty() || !is_name_start(text[0]) || text[0] == '.') return false;
  for (const char c : text)
    if (!is_name_part(c)) return false;
  return true;
}

Ref<Executable> Executable::assemble(std::string_view text) { return Assembler(text).run(); }

}  // namespace opd
