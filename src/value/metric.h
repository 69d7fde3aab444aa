// A measured value with its kind. Collectors produce it, and reports store it.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace opd {

enum class MetricKind : uint8_t {
  kNone,      // no such metric
  kCount,     // int64
  kDuration,  // µs
  kPercent,   // 0 to 100
  kRatio,
  kString,
  kBytes,  // int64
  kHertz,
  kRaw,  // JSON text of an unknown kind, kept for writing it back
};

// A text is stored as an index into the texts of the metric's container.
struct Metric {
  MetricKind kind = MetricKind::kNone;
  uint64_t bits = 0;

  static Metric of_count(int64_t count) { return {MetricKind::kCount, std::bit_cast<uint64_t>(count)}; }
  static Metric of_number(MetricKind kind, double number) { return {kind, std::bit_cast<uint64_t>(number)}; }
  explicit operator bool() const { return kind != MetricKind::kNone; }
  bool is_integer() const { return kind == MetricKind::kCount || kind == MetricKind::kBytes; }
  bool is_number() const { return kind != MetricKind::kNone && !is_text() && !is_integer(); }
  bool is_text() const { return kind == MetricKind::kString || kind == MetricKind::kRaw; }
  int64_t count() const { return std::bit_cast<int64_t>(bits); }
  double number() const { return std::bit_cast<double>(bits); }
  size_t text() const { return bits; }
  friend bool operator==(const Metric &, const Metric &) = default;
};

// TVM has no kinds for bytes and hertz, and aborts on unknown kinds. So files store them as count and ratio, and a
// suffix of the name marks the kind. The first function adds a missing suffix; the second one reads it.
inline constexpr std::string_view kBytesUnit = " (bytes)", kHertzUnit = " (Hz)";

inline std::string name_with_unit(std::string_view name, MetricKind kind) {
  std::string_view unit;
  if (kind == MetricKind::kBytes) unit = kBytesUnit;
  if (kind == MetricKind::kHertz) unit = kHertzUnit;
  return name.ends_with(unit) ? std::string(name) : concat(name, unit);
}

inline MetricKind kind_with_unit(std::string_view name, MetricKind kind) {
  if (kind == MetricKind::kCount && name.ends_with(kBytesUnit)) return MetricKind::kBytes;
  if (kind == MetricKind::kRatio && name.ends_with(kHertzUnit)) return MetricKind::kHertz;
  return kind;
}

}  // namespace opd
