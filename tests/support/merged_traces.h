// What the tests of merged traces share.
#pragma once
#include <string>

#include "base/byte_sink.h"

namespace opd {

inline constexpr int64_t kEpoch = 1'700'000'000'000'000'000;  // Unix time in ns

template <class Write>
std::string written(const Write &write) {
  StringSink sink;
  write(sink);
  return sink.take();
}

}  // namespace opd
