#include "call/signature.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/error.h"

namespace opd {
namespace {

constexpr std::array<const char *, 16> kNames = {"void", "bool", "i8",  "i16", "i32", "i64", "u8",     "u16",
                                                 "u32",  "u64",  "f32", "f64", "ptr", "str", "tensor", "struct"};
constexpr int kMaxDepth = 16;       // nesting limit of structs, because functions that walk types recurse
constexpr size_t kMaxTypes = 1024;  // per signature, including fields; no real C function has more

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Signature parse() {
    Signature signature;
    signature.result = type("a result type", 0);
    expect('(');
    skip_space();
    if (!take(')')) parse_arguments(signature);
    skip_space();
    if (place_ != text_.size()) bad("nothing after the closing parenthesis");
    return signature;
  }

 private:
  void parse_arguments(Signature &signature) {
    do {
      skip_space();
      if (text_.substr(place_).starts_with("...")) {
        if (signature.arguments.empty()) bad("a type, since ... needs an argument before it");
        place_ += 3;
        signature.variadic = true;
        return expect(')');
      }
      signature.arguments.push_back(value_type("an argument type"));
      skip_space();
    } while (take(','));
    expect(')');
  }

  CType value_type(const char *wanted, int depth = 0) {
    const size_t start = (skip_space(), place_);
    CType parsed = type(wanted, depth);
    if (parsed.kind != CKind::kVoid) return parsed;
    place_ = start;
    bad(concat(wanted, " other than void"));
  }

  CType type(const char *wanted, int depth) {
    skip_space();
    if (++types_ > kMaxTypes) bad(concat("at most ", kMaxTypes, " types"));
    if (take('{')) return fields(depth + 1);
    const size_t start = place_;
    while (place_ < text_.size() && is_word(text_[place_])) ++place_;
    const std::string_view word = text_.substr(start, place_ - start);
    const auto last = std::prev(kNames.end());  // "struct" is not a word of the grammar
    const auto found = std::find(kNames.begin(), last, word);
    if (found != last) return {static_cast<CKind>(found - kNames.begin()), {}};
    place_ = start;
    bad(wanted, word.empty()
                    ? ""
                    : " The types are void, bool, i8 to i64, u8 to u64, f32, f64, ptr, str, tensor and {type, …}.");
  }

  CType fields(int depth) {
    if (depth > kMaxDepth) bad(concat("structs nested at most ", kMaxDepth, " deep"));
    CType parsed{CKind::kStruct, {}};
    do {
      parsed.fields.push_back(value_type("a field type", depth));
      skip_space();
    } while (take(','));
    expect('}');
    return parsed;
  }

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  void skip_space() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\t' || text_[place_] == '\n')) ++place_;
  }
  bool take(char c) {
    if (place_ >= text_.size() || text_[place_] != c) return false;
    ++place_;
    return true;
  }
  void expect(char c) {
    skip_space();
    if (!take(c)) bad(concat("'", c, "'"));
  }
  [[noreturn]] void bad(std::string_view wanted, std::string_view hint = {}) const {
    constexpr size_t kMost = 200;
    const std::string_view rest = text_.substr(place_, 20);
    fail(OPD_INVALID_ARGUMENT, "the signature \"", text_.substr(0, kMost), text_.size() > kMost ? "…" : "",
         "\" must have ", wanted, " at offset ", place_, ", but ",
         rest.empty() ? "ends there" : concat("has \"", rest, "\""), ".", hint);
  }

  std::string_view text_;
  size_t place_ = 0, types_ = 0;
};

}  // namespace

Signature parse_signature(std::string_view text) { return Parser(text).parse(); }

const char *kind_name(CKind kind) { return kNames[static_cast<size_t>(kind)]; }

bool contains(const CType &type, CKind kind) {
  return type.kind == kind || std::ranges::any_of(type.fields, [&](const CType &f) { return contains(f, kind); });
}

}  // namespace opd
