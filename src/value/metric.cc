#include "value/metric.h"

#include "base/error.h"

namespace opd {

namespace {
constexpr std::string_view kBytesUnit = " (bytes)", kHertzUnit = " (Hz)";
}

std::string name_with_unit(std::string_view name, MetricKind kind) {
  std::string_view unit;
  if (kind == MetricKind::kBytes) unit = kBytesUnit;
  if (kind == MetricKind::kHertz) unit = kHertzUnit;
  return name.ends_with(unit) ? std::string(name) : concat(name, unit);
}

MetricKind kind_with_unit(std::string_view name, MetricKind kind) {
  if (kind == MetricKind::kCount && name.ends_with(kBytesUnit)) return MetricKind::kBytes;
  if (kind == MetricKind::kRatio && name.ends_with(kHertzUnit)) return MetricKind::kHertz;
  return kind;
}

}  // namespace opd
