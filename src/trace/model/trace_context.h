// The trace context of a request that another program traces, as in the W3C's recommendation "Trace Context".
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace opd {

struct TraceContext {
  std::array<uint8_t, 16> trace;  // trace id; all 0: there is no context
  std::array<uint8_t, 8> span;    // span id of the caller
  uint8_t flags;                  // 1: the caller records its trace

  bool is_any() const { return trace != std::array<uint8_t, 16>{}; }
  bool is_sampled() const { return flags & 1; }
  // Parses the value of a `traceparent` header; none: it is invalid.
  static std::optional<TraceContext> parse(std::string_view text);
  std::string to_text() const;  // the value of a `traceparent` header
  bool operator==(const TraceContext &) const = default;
};

}  // namespace opd
