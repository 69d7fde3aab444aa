// Text with many numbers, written to a sink in pieces of 64 KiB.
#pragma once
#include <charconv>
#include <concepts>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/byte_sink.h"

namespace opd {

// A write position with reserved room.
struct TextCursor {
  char *at;

  TextCursor &operator<<(std::string_view text) {
    at = static_cast<char *>(std::memcpy(at, text.data(), text.size())) + text.size();
    return *this;
  }
  template <std::integral T>
  TextCursor &operator<<(T number) {
    at = std::to_chars(at, at + kMostDigits, number).ptr;
    return *this;
  }
  // Writes microseconds with exactly three decimals.
  void microseconds(int64_t ns) {
    if (ns < 0) *at++ = '-', ns = -ns;
    *this << ns / 1000;
    const auto rest = static_cast<int>(ns % 1000);
    at[0] = '.', at[1] = static_cast<char>('0' + rest / 100), at[2] = static_cast<char>('0' + rest / 10 % 10);
    at[3] = static_cast<char>('0' + rest % 10);
    at += 4;
  }
  static constexpr size_t kMostDigits = 20;
};

class TextPieces {
 public:
  explicit TextPieces(ByteSink &sink) : sink_(sink) {}

  TextPieces &operator<<(std::string_view text) {
    TextCursor cursor = reserve(text.size());
    advance(cursor << text);
    return *this;
  }
  template <std::integral T>
  TextPieces &operator<<(T number) {
    TextCursor cursor = reserve(TextCursor::kMostDigits);
    advance(cursor << number);
    return *this;
  }
  void microseconds(int64_t ns) {
    TextCursor cursor = reserve(TextCursor::kMostDigits + 5);
    cursor.microseconds(ns);
    advance(cursor);
  }

  // For texts of many parts: returns a cursor with room for this many bytes. Return it with advance().
  TextCursor reserve(size_t bytes) {
    if (bytes > static_cast<size_t>(end_ - at_)) [[unlikely]]
      make_room(bytes);
    return {at_};
  }
  void advance(const TextCursor &cursor) { at_ = cursor.at; }

  void flush() {
    if (at_ != piece_.get()) sink_.write(piece_.get(), static_cast<size_t>(at_ - piece_.get()));
    at_ = piece_.get();
  }

 private:
  void make_room(size_t bytes) {
    flush();
    if (bytes <= static_cast<size_t>(end_ - at_)) return;
    piece_ = std::make_unique_for_overwrite<char[]>(bytes);  // a name may be longer than a piece
    at_ = piece_.get();
    end_ = at_ + bytes;
  }

  static constexpr size_t kPieceBytes = size_t{1} << 16;
  ByteSink &sink_;
  std::unique_ptr<char[]> piece_ = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  char *at_ = piece_.get(), *end_ = at_ + kPieceBytes;
};

}  // namespace opd
