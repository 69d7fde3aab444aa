// Text with many numbers, handed on in pieces of 64 KiB.
#pragma once
#include <charconv>
#include <concepts>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/byte_sink.h"

namespace opd {

class TextPieces {
 public:
  explicit TextPieces(ByteSink &sink) : sink_(sink) {}

  TextPieces &operator<<(std::string_view text) {
    if (text.size() > room()) [[unlikely]]
      flush();
    if (text.size() > room()) sink_.write(text);  // a name may be longer than a piece
    else at_ = static_cast<char *>(std::memcpy(at_, text.data(), text.size())) + text.size();
    return *this;
  }
  template <std::integral T>
  TextPieces &operator<<(T number) {
    if (room() < kMostDigits) [[unlikely]]
      flush();
    at_ = std::to_chars(at_, end(), number).ptr;
    return *this;
  }
  // Microseconds with exactly three decimals.
  void microseconds(int64_t ns) {
    if (ns < 0) *this << "-", ns = -ns;
    const auto rest = static_cast<int>(ns % 1000);
    const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                             static_cast<char>('0' + rest % 10)};
    *this << ns / 1000 << std::string_view(decimals, sizeof decimals);
  }
  void flush() {
    if (at_ != piece_.get()) sink_.write(piece_.get(), static_cast<size_t>(at_ - piece_.get()));
    at_ = piece_.get();
  }

 private:
  static constexpr size_t kPieceBytes = size_t{1} << 16, kMostDigits = 20;
  char *end() const { return piece_.get() + kPieceBytes; }
  size_t room() const { return static_cast<size_t>(end() - at_); }

  ByteSink &sink_;
  const std::unique_ptr<char[]> piece_ = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  char *at_ = piece_.get();
};

}  // namespace opd
