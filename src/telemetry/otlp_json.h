// Writes requests of OTLP/HTTP in their JSON form. Source: OpenTelemetry Protocol 1.x, "JSON Protobuf Encoding";
// opentelemetry-proto's metrics.proto and trace.proto.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "telemetry/metric.h"
#include "telemetry/settings.h"
#include "telemetry/spans.h"

namespace opd {

// Times are Unix time in ns. `since_ns`: the begin of the sums.
std::string otlp_metrics(const std::vector<Series> &all, const TelemetrySettings &settings, int64_t since_ns,
                         int64_t now_ns);
std::string otlp_spans(const std::vector<SentSpan> &spans, const TelemetrySettings &settings);

// Returns the number of spans that the collector's answer reports as rejected; 0 if it has none.
uint64_t rejected_spans(const std::string &answer) noexcept;

}  // namespace opd
