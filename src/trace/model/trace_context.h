// A request that another program traces, by the W3C's recommendation "Trace Context".
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace opd {

struct TraceContext {
  std::array<uint8_t, 16> trace;  // number of the trace; all 0: there is no context
  std::array<uint8_t, 8> span;    // number of the caller's span
  uint8_t flags;                  // 1: the caller keeps its trace

  bool is_any() const { return trace != std::array<uint8_t, 16>{}; }
  bool is_sampled() const { return flags & 1; }
  // Reads the value of a `traceparent` header; none: it is not one.
  static std::optional<TraceContext> parse(std::string_view text);
  std::string to_text() const;  // of a context; as such a header says it
  bool operator==(const TraceContext &) const = default;
};

}  // namespace opd
