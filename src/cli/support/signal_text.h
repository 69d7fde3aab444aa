// Text that a signal handler writes to standard error: it allocates no memory and uses only system calls.
#pragma once
#include <unistd.h>

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
  SignalText &digits(uintptr_t number, unsigned base) {
    char reversed[24];
    size_t count = 0;
    do reversed[count++] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    while (count > 0 && size_ < sizeof text_) text_[size_++] = reversed[--count];
    return *this;
  }

  char text_[8192];
  size_t size_ = 0;
};

}  // namespace opd::cli
