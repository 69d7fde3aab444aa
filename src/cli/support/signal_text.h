// Text that a signal handler writes to standard error: it allocates no memory and uses only system calls.
#pragma once
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace opd::cli {

// Collects one message, so that messages of other threads cannot come between its parts. Text that does not fit is left
// out.
class SignalText {
 public:
  SignalText &operator<<(const char *text) {
    while (*text && size_ < sizeof text_) text_[size_++] = *text++;
    return *this;
  }
  SignalText &operator<<(size_t number) { return digits(number, 10); }
  SignalText &operator<<(const void *address) {
    return *this << "0x", digits(reinterpret_cast<uintptr_t>(address), 16);
  }

  void flush() {
    if (write(STDERR_FILENO, text_, size_) < 0) {}  // a failure cannot be reported any more
    size_ = 0;
  }

 private:
  SignalText &digits(uintptr_t number, int base) {
    char text[24];
    *std::to_chars(text, text + sizeof text - 1, number, base).ptr = '\0';
    return *this << text;
  }

  char text_[8192];
  size_t size_ = 0;
};

}  // namespace opd::cli
