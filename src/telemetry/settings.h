// The settings of a telemetry session, from the program or the environment.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace opd {

struct TelemetrySettings {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string prometheus;  // "HOST:PORT" to listen at; "": does not listen
  std::string otlp;        // "http://HOST:PORT" to send to; "": does not send
  std::string service_name;
  Pairs resource, headers;
  std::string version, abi;               // version and ABI of the library
  uint64_t interval_ns = 10'000'000'000;  // interval at which metrics are sent
  size_t max_queue = 2048;                // limit of waiting spans
  size_t max_series = 1000;               // limit of a metric's label sets
  uint64_t max_bytes = uint64_t{64} << 20;
  bool per_operator = false, spans = true, process_metrics = true;
};

// Reads "KEY=VALUE,KEY=VALUE"; values are percent-encoded. Throws OPD_INVALID_ARGUMENT with the name of the list.
TelemetrySettings::Pairs read_pairs(std::string_view text, std::string_view what);

// Sets missing values from OpenTelemetry's variables, then from defaults. Throws OPD_INVALID_ARGUMENT.
void complete_settings(TelemetrySettings &settings);

// Reads the value of OPDYNO_TELEMETRY. Throws OPD_INVALID_ARGUMENT.
TelemetrySettings read_telemetry_variable(std::string_view text);

}  // namespace opd
