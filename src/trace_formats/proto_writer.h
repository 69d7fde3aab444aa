// Writes messages of protocol buffers.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/json_writer.h"

namespace opd {

// A message of a few numbers and small messages, without an allocation. It is shorter than 128 bytes, so that its
// length takes one byte.
class SmallProto {
 public:
  SmallProto &number(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  SmallProto &fixed64(uint32_t field, uint64_t value) {
    varint(field << 3 | 1);
    for (int i = 0; i < 8; ++i, value >>= 8) bytes_[size_++] = static_cast<char>(value & 0xFF);
    return *this;
  }
  SmallProto &message(uint32_t field, const SmallProto &value) {
    varint(field << 3 | 2);
    varint(value.size_);
    std::memcpy(bytes_ + size_, value.bytes_, value.size_);
    size_ += value.size_;
    return *this;
  }
  std::string_view str() const { return {bytes_, size_}; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_[size_++] = static_cast<char>(value | 0x80);
    bytes_[size_++] = static_cast<char>(value);
  }

  size_t size_ = 0;
  char bytes_[128];
};

// One message. A nested message is made with a separate writer and added as bytes.
class ProtoWriter {
 public:
  ProtoWriter &number(uint32_t field, uint64_t value) {
    varint(uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  ProtoWriter &bytes(uint32_t field, std::string_view value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  ProtoWriter &message(uint32_t field, const ProtoWriter &value) { return bytes(field, value.text_); }
  ProtoWriter &text(uint32_t field, std::string_view value) {  // replaces invalid UTF-8, which parsers refuse
    if (is_utf8(value)) return bytes(field, value);
    std::string good;
    append_utf8_text(good, value);
    return bytes(field, good);
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  void reserve(size_t bytes) { text_.reserve(bytes); }
  void clear() { text_.clear(); }
  const std::string &str() const { return text_; }

 private:
  std::string text_;
};

}  // namespace opd
