#include "telemetry/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "trace/model/trace.h"

namespace opd {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t first = text.find_first_not_of(kBlanks);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

// Invalid escapes are kept as they are.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char *const digits = text.data() + i + 1;
    if (text[i] == '%' && text.size() - i > 2 && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2)
      out += static_cast<char>(byte), i += 2;
    else out += text[i];
  }
  return out;
}

std::string variable(const char *name) {
  const char *const text = ::secure_getenv(name);
  return text ? text : "";
}

bool read_flag(std::string_view key, std::string_view value) {
  require(value == "0" || value == "1", key, " must be 0 or 1, but is ", value);
  return value == "1";
}

uint64_t read_seconds_ns(std::string_view key, std::string_view value) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  require(error == std::errc() && end == value.data() + value.size() && seconds >= 0.001 && seconds <= 86'400, key,
          " must be seconds from 0.001 to 86400, but is ", value);
  return static_cast<uint64_t>(seconds * 1e9);
}

}  // namespace

TelemetrySettings::Pairs read_pairs(std::string_view text, std::string_view what) {
  TelemetrySettings::Pairs pairs;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    require(equals != part.npos && equals > 0, what, " must be KEY=VALUE,KEY=VALUE, but has \"", part, "\"");
    pairs.emplace_back(trimmed(part.substr(0, equals)), percent_decoded(trimmed(part.substr(equals + 1))));
  }
  return pairs;
}

// The program's own name overrides a resource attribute "service.name"; both override OpenTelemetry's variables.
void complete_settings(TelemetrySettings &settings) {
  const auto has = [&](std::string_view key) {
    return std::ranges::any_of(settings.resource, [key](const auto &pair) { return pair.first == key; });
  };
  if (settings.service_name.empty() && !has("service.name")) settings.service_name = variable("OTEL_SERVICE_NAME");
  for (auto &pair : read_pairs(variable("OTEL_RESOURCE_ATTRIBUTES"), "OTEL_RESOURCE_ATTRIBUTES"))
    if (!has(pair.first)) settings.resource.push_back(std::move(pair));
  // An endpoint for gRPC does not accept HTTP.
  if (settings.otlp.empty() && !variable("OTEL_EXPORTER_OTLP_PROTOCOL").starts_with("grpc"))
    settings.otlp = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (settings.headers.empty())
    settings.headers = read_pairs(variable("OTEL_EXPORTER_OTLP_HEADERS"), "OTEL_EXPORTER_OTLP_HEADERS");
  for (const auto &[name, value] : settings.headers) {
    for (const char c : name + value) require(c >= ' ' && c != 0x7F, "the header ", name, " has a control character");
    require(name.find_first_of(": \t") == name.npos, "\"", name, "\" is not a name of a header");
  }

  if (settings.service_name.empty()) {
    const auto found =
        std::ranges::find(settings.resource, "service.name", &std::pair<std::string, std::string>::first);
    settings.service_name = found != settings.resource.end() ? found->second : TraceProcess::of_this().name;
  }
  std::erase_if(settings.resource, [](const auto &pair) { return pair.first == "service.name"; });
}

TelemetrySettings read_telemetry_variable(std::string_view text) {
  TelemetrySettings settings;
  for (const auto &[key, value] : read_pairs(text, "OPDYNO_TELEMETRY")) {
    if (key == "prometheus") settings.prometheus = value;
    else if (key == "otlp") settings.otlp = value;
    else if (key == "service_name") settings.service_name = value;
    else if (key == "per_operator") settings.per_operator = read_flag(key, value);
    else if (key == "interval") settings.interval_ns = read_seconds_ns(key, value);
    else
      fail(OPD_INVALID_ARGUMENT, "\"", key, "\" is none of prometheus, otlp, service_name, per_operator and interval");
  }
  return settings;
}

}  // namespace opd
