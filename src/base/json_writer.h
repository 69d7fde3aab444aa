// A streaming JSON writer without a tree and independent of the locale. Its numbers read back equal.
#pragma once
#include <string>
#include <string_view>

#include "base/text.h"

namespace opd {

// Returns the length of the UTF-8 sequence at the front of `text`. Returns 0 if it is invalid (overlong, surrogate, too
// large, cut off).
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

// Returns the first `most` bytes of UTF-8, or up to 3 fewer, so that no character is cut.
inline std::string_view cut_text(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t size = most;
  while (size > 0 && size + 4 > most && (text[size] & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

// Appends the text. Bytes that are not UTF-8 become U+FFFD.
void append_utf8_text(std::string &out, std::string_view text);

// Appends a quoted string. Control characters, quotes and backslashes are escaped. Bytes that are not UTF-8 become
// U+FFFD.
void append_json_string(std::string &out, std::string_view text);
inline std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

class JsonWriter {
 public:
  JsonWriter &begin_object() { return open('{'); }
  JsonWriter &end_object() { return close('}'); }
  JsonWriter &begin_array() { return open('['); }
  JsonWriter &end_array() { return close(']'); }
  JsonWriter &key(std::string_view name) {
    separate();
    append_json_string(out_, name);
    out_ += ':';
    first_ = true;
    return *this;
  }
  JsonWriter &value(std::string_view text) {
    separate();
    append_json_string(out_, text);
    return *this;
  }
  JsonWriter &value(const char *text) { return value(std::string_view(text)); }
  JsonWriter &value(bool yes) { return raw(yes ? "true" : "false"); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonWriter &value(T number) {
    separate();
    append(out_, number);
    return *this;
  }
  JsonWriter &raw(std::string_view text) {
    separate();
    out_ += text;
    return *this;
  }
  std::string take() { return std::move(out_); }
  std::string &text() { return out_; }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  JsonWriter &open(char bracket) {
    separate();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter &close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }

  std::string out_;
  bool first_ = true;
};

}  // namespace opd
