// Reads and writes JSON text as values: None, bool, int, float, strings, arrays, and maps of strings.
#include <charconv>
#include <cmath>

#include "base/bytes.h"
#include "base/text.h"
#include "compat/tvm_ffi/define.h"
#include "compat/tvm_ffi/list.h"

namespace opd {
namespace {

constexpr int kMaxDepth = 1000;  // nesting limit of containers in text

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Value parse() {
    Value value = parse_value();
    skip_space();
    if (at_ < text_.size()) bad("is followed by more");
    return value;
  }

 private:
  template <class... Parts>
  [[noreturn]] void bad(const Parts &...parts) const {
    fail_as("ValueError", OPD_BAD_FORMAT, "JSON text ", parts..., " at offset ", at_);
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void need(char c) {
    skip_space();
    if (!take({&c, 1})) bad("lacks a ", std::string_view(&c, 1));
  }

  Value parse_value() {
    skip_space();
    if (at_ >= text_.size()) bad("ends too early");
    switch (text_[at_]) {
      case '{':
        return nested([&] { return parse_object(); });
      case '[':
        return nested([&] { return parse_array(); });
      case '"':
        return parse_string();
      default:
        if (take("null")) return {};
        if (take("true")) return true;
        if (take("false")) return false;
        if (take("NaN")) return NAN;
        if (take("Infinity")) return INFINITY;
        if (take("-Infinity")) return -INFINITY;
        return parse_number();
    }
  }

  template <class F>
  Value nested(F &&parse) {
    if (++depth_ > kMaxDepth) bad("is nested more than ", kMaxDepth, " deep");
    ++at_;
    Value value = parse();
    --depth_;
    return value;
  }

  // Calls `item` for each item up to `end`.
  template <class F>
  void parse_items(char end, F &&item) {
    skip_space();
    if (take({&end, 1})) return;
    for (;;) {
      item();
      skip_space();
      if (take({&end, 1})) return;
      if (!take(",")) bad("lacks a , or a ", std::string_view(&end, 1));
    }
  }

  Value parse_array() {
    std::vector<Value> items;
    parse_items(']', [&] { items.push_back(parse_value()); });
    return Array::make(views_of(items));
  }

  Value parse_object() {
    auto object = make_object<Map>();
    parse_items('}', [&] {
      skip_space();
      if (at_ >= text_.size() || text_[at_] != '"') bad("lacks a name");
      const Value key = parse_string();
      need(':');
      object->insert(key, parse_value());
    });
    return object;
  }

  uint32_t parse_hex() {
    uint32_t code = 0;
    const auto digits = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || end != digits.data() + 4) bad("has no four hexadecimal digits");
    at_ += 4;
    return code;
  }

  void append_escaped(std::string &out) {
    if (at_ >= text_.size()) bad("ends too early");
    const char c = text_[at_++];
    constexpr std::string_view kNames = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
    if (const size_t place = kNames.find(c); place != std::string_view::npos) {
      out += kCharacters[place];
      return;
    }
    if (c != 'u') bad("has an unknown escape");
    uint32_t code = parse_hex();
    if (code >= 0xd800 && code < 0xdc00) {  // the first half of a surrogate pair
      if (!take("\\u")) bad("has half a pair of characters");
      const uint32_t low = parse_hex();
      if (low < 0xdc00 || low >= 0xe000) bad("has half a pair of characters");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      bad("has half a pair of characters");
    }
    append_utf8(out, code);
  }

  Value parse_string() {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"';) {
      if (static_cast<uint8_t>(text_[at_]) < 0x20) bad("has a control character in a string");
      if (take("\\")) append_escaped(out);
      else out += text_[at_++];
    }
    if (!take("\"")) bad("ends in a string");
    return out;
  }

  Value parse_number() {
    const size_t end = std::min(text_.find_first_not_of("+-0123456789.eE", at_), text_.size());
    const std::string_view text = text_.substr(at_, end - at_);
    Value value;
    if (const auto whole = number_in<int64_t>(text)) value = Value(*whole);
    else if (const auto number = number_in<double>(text)) value = Value(*number);
    else bad("has no value");
    at_ = end;
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

void append_string(std::string &out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
    if (const size_t place = kCharacters.find(c); place != std::string_view::npos) {
      out += {'\\', kNames[place]};
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      out += concat("\\u00", hex(Bytes(reinterpret_cast<const uint8_t *>(&c), 1)));
    } else {
      out += c;
    }
  }
  out += '"';
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}
  std::string out;

  void write(const View &v) {
    if (is_text(v)) return append_string(out, as_text(v, ""));
    switch (v.type) {
      case OPD_NONE:
        out += "null";
        return;
      case OPD_BOOL:
        out += v.u.int64 ? "true" : "false";
        return;
      case OPD_INT:
        append(out, v.u.int64);
        return;
      case OPD_FLOAT:
        return write_float(v.u.float64);
      default:
        break;
    }
    if (++depth_ > kMaxDepth)
      fail(OPD_INVALID_ARGUMENT, "JSON text cannot hold values nested more than ", kMaxDepth, " deep");
    if (const Array *sequence = try_sequence(v)) {
      const auto views = sequence->views();
      write_items('[', ']', views.size(), [&](size_t i) { write(views[i]); });
    } else if (const Map *map = try_map(v)) {
      uint64_t place = map->begin();
      write_items('{', '}', map->count, [&](size_t) {
        const auto &entry = map->at(place);
        if (!is_text(entry.key)) fail_type("the name of a member in JSON text", "a string", entry.key);
        append_string(out, as_text(entry.key, ""));
        out += indent_ ? ": " : ":";
        write(entry.value);
        place = map->next(place);
      });
    } else {
      fail_as("TypeError", OPD_INVALID_ARGUMENT, "JSON text cannot hold a value of type ", type_key(v.type));
    }
    --depth_;
  }

 private:
  void write_float(double number) {
    if (std::isnan(number)) out += "NaN";
    else if (std::isinf(number)) out += number < 0 ? "-Infinity" : "Infinity";
    else {
      char text[32];
      const auto end = std::to_chars(text, text + sizeof text, number).ptr;
      const std::string_view shown(text, static_cast<size_t>(end - text));
      out += shown;
      if (shown.find_first_of(".e") == std::string_view::npos) out += ".0";  // so that it reads back as a float
    }
  }

  template <class F>
  void write_items(char begin, char end, size_t count, F &&write_item) {
    out += begin;
    for (size_t i = 0; i < count; ++i) {
      if (i) out += ',';
      new_line(depth_);
      write_item(i);
    }
    if (count) new_line(depth_ - 1);
    out += end;
  }
  void new_line(int depth) {
    if (indent_) out.append(1, '\n').append(static_cast<size_t>(indent_ * depth), ' ');
  }

  int indent_, depth_ = 0;
};

}  // namespace

Value parse_json(std::string_view text) { return Parser(text).parse(); }

std::string json_text(const View &value, int indent) {
  Writer writer(indent);
  writer.write(value);
  return std::move(writer.out);
}

}  // namespace opd
