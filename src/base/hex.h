// Bytes as lower-case hexadecimal digits.
#pragma once
#include <string>

#include "base/bytes.h"

namespace opd {

inline std::string hex(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

}  // namespace opd
