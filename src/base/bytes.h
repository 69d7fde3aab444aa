// Readers and writers of little-endian bytes. Readers check bounds, and their errors give the offset.
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace opd {

using Bytes = std::span<const uint8_t>;
inline Bytes as_bytes(std::string_view text) { return {reinterpret_cast<const uint8_t *>(text.data()), text.size()}; }
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char *>(bytes.data()), bytes.size()}; }

// Returns the bytes as lower-case hexadecimal digits.
inline std::string hex(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

class ByteReader {
 public:
  // `what` names the bytes in messages and must outlive the reader; `base` is added to offsets in messages.
  ByteReader(Bytes bytes, const char *what, size_t base = 0) : bytes_(bytes), what_(what), base_(base) {}

  size_t offset() const { return base_ + position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  bool at_end() const { return remaining() == 0; }

  template <class T>
  requires std::is_trivially_copyable_v<T> T read(const char *field) {
    T value;
    std::memcpy(&value, take(sizeof value, field).data(), sizeof value);
    return value;
  }

  Bytes take(uint64_t size, const char *field) {
    if (size > remaining()) [[unlikely]]
      bad(field, concat("needs ", size, " bytes, ", remaining(), " remain"));
    Bytes part = bytes_.subspan(position_, size);
    position_ += size;
    return part;
  }

  std::string_view read_string(const char *field) { return as_text(take(read<uint64_t>(field), field)); }

  // Reads a count of elements that take at least `element_size` bytes each. Throws if the remaining bytes cannot hold
  // them.
  uint64_t read_count(size_t element_size, const char *field) {
    const auto count = read<uint64_t>(field);
    if (count > remaining() / element_size) [[unlikely]]
      bad(field, concat("counts ", count, " entries, but only ", remaining(), " bytes remain"));
    return count;
  }

  [[noreturn]] void bad(const char *field, std::string_view problem) const {
    fail(OPD_BAD_FORMAT, what_, ": ", field, " at offset ", offset(), " ", problem);
  }

 private:
  Bytes bytes_;
  const char *what_;
  size_t base_, position_ = 0;
};

class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void write(T value) { out_.append(reinterpret_cast<const char *>(&value), sizeof value); }
  void write_bytes(const void *data, size_t size) { out_.append(static_cast<const char *>(data), size); }
  void write_string(std::string_view text) {
    write<uint64_t>(text.size());
    out_ += text;
  }
  size_t size() const { return out_.size(); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace opd
