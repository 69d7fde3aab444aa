// Writes bytes to another sink as base64 (RFC 4648, with padding).
#pragma once
#include <vector>

#include "base/byte_sink.h"

namespace opd {

class Base64Sink final : public ByteSink {
 public:
  explicit Base64Sink(ByteSink &out) : out_(out) {}
  void finish() {  // call it after the last byte
    if (held_ == 0) return;
    const size_t digits = held_ + 1;
    while (held_ < 3) group_[held_++] = 0;
    char text[4];
    encode(group_, text);
    for (size_t i = digits; i < 4; ++i) text[i] = '=';
    out_.write(text, 4);
    held_ = 0;
  }

 private:
  static void encode(const uint8_t *bytes, char *text) {
    constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t bits = static_cast<uint32_t>(bytes[0]) << 16 | static_cast<uint32_t>(bytes[1]) << 8 | bytes[2];
    for (int i = 0; i < 4; ++i) text[i] = kDigits[bits >> (18 - 6 * i) & 63];
  }

  void put(const void *data, size_t size) override {
    const auto *at = static_cast<const uint8_t *>(data), *const end = at + size;
    text_.resize((held_ + size) / 3 * 4);
    char *to = text_.data();
    for (; held_ != 0 && at < end; held_ %= 3) {
      group_[held_++] = *at++;
      if (held_ == 3) encode(group_, to), to += 4;
    }
    for (; end - at >= 3; at += 3, to += 4) encode(at, to);
    while (at < end) group_[held_++] = *at++;
    out_.write(text_.data(), text_.size());
  }

  ByteSink &out_;
  uint8_t group_[3] = {};  // bytes of an incomplete group
  size_t held_ = 0;        // number of these bytes
  std::vector<char> text_;
};

}  // namespace opd
