/** @file telemetry.hpp  Telemetry: metrics for Prometheus, metrics and spans for OpenTelemetry. */
#ifndef OPDYNO_TELEMETRY_HPP_
#define OPDYNO_TELEMETRY_HPP_

#include <opdyno/telemetry.h>

#include <opdyno/base.hpp>

namespace opdyno {

/** Measures, and offers or sends the metrics, until the last copy is destroyed. */
class Telemetry : public Handle<opd_telemetry> {
 public:
  using Handle::Handle;
  explicit Telemetry(const opd_telemetry_options *options = nullptr) { check(opd_telemetry_start(options, out())); }
  std::string address() const { return opd_telemetry_address(get()); }
  std::string text(opd_telemetry_format format = OPD_TELEMETRY_PROMETHEUS) const {
    return text_of(opd_telemetry_to_text, get(), format);
  }
  void set_value(const opd_telemetry_value &value) const { check(opd_telemetry_set_value(get(), &value)); }
  void flush(uint64_t timeout_ns) const { check(opd_telemetry_flush(get(), timeout_ns)); }
  opd_telemetry_stats stats() const {
    opd_telemetry_stats stats{};
    stats.struct_size = sizeof stats;
    check(opd_telemetry_get_stats(get(), &stats));
    return stats;
  }
};

/** Sets the request for which the calling thread works, as long as the object lives. */
class TraceParent {
 public:
  explicit TraceParent(const std::string &traceparent) { check(opd_telemetry_set_parent(traceparent.c_str())); }
  TraceParent(const TraceParent &) = delete;
  TraceParent &operator=(const TraceParent &) = delete;
  ~TraceParent() { opd_error_release(opd_telemetry_set_parent(nullptr)); }
};

}  // namespace opdyno

#endif
