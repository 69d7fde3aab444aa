// Writes FlatBuffers, the encoding of Arrow's metadata, front to back. A table's children follow it; references to them
// are filled in afterwards. Format: https://flatbuffers.dev/internals
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace opd::cli {

class FlatBuffer {
 public:
  FlatBuffer() : bytes_(4, '\0') {}  // for the reference to the root table

  struct Field {
    uint8_t size = 0;  // in bytes; 0: the table lacks the field
    uint64_t value = 0;
  };
  static constexpr Field absent() { return {}; }
  static constexpr Field u8(uint8_t value) { return {1, value}; }
  static constexpr Field i16(int16_t value) { return {2, static_cast<uint16_t>(value)}; }
  static constexpr Field i32(int32_t value) { return {4, static_cast<uint32_t>(value)}; }
  static constexpr Field i64(int64_t value) { return {8, static_cast<uint64_t>(value)}; }
  static constexpr Field child() { return {4, 0}; }  // filled in by refer()

  struct Table {
    size_t begin;
    std::vector<size_t> fields;  // place of each field
  };
  Table table(std::span<const Field> fields);
  Table table(std::initializer_list<Field> fields) { return table({fields.begin(), fields.size()}); }
  size_t string(std::string_view text);
  // Adds a vector of `count` references and returns its place. The references start 4 bytes after it.
  size_t references(size_t count);
  static size_t reference(size_t vector, size_t index) { return vector + 4 + 4 * index; }
  // Adds a vector of structs with 8-byte members.
  size_t structs(std::span<const int64_t> words, size_t words_each);

  void refer(size_t from, size_t to) { put(from, 4, to - from); }
  void set_root(const Table &table) { refer(0, table.begin); }
  const std::string &bytes() const { return bytes_; }

 private:
  void put(size_t at, size_t size, uint64_t value) {  // little-endian
    for (size_t i = 0; i < size; ++i) bytes_[at + i] = static_cast<char>(value >> (8 * i));
  }
  size_t append(size_t size, uint64_t value) {
    bytes_.resize(bytes_.size() + size);
    put(bytes_.size() - size, size, value);
    return bytes_.size() - size;
  }
  void align(size_t to, size_t before = 0) {  // aligns the position `before` bytes ahead
    while ((bytes_.size() + before) % to) bytes_ += '\0';
  }

  std::string bytes_;
};

}  // namespace opd::cli
