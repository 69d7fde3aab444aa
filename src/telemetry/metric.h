// The metrics of a telemetry session, as numbers with labels: read at a moment, then written in any form.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace opd {

// Durations by their length. The bounds are 1, 2 and 5 times each power of ten, from 1 µs to 100 s.
struct DurationHistogram {
  static constexpr std::array<double, 25> kBounds{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4,
                                                  1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,  0.2,  0.5,
                                                  1,    2,    5,    10,   20,   50,   100};
  std::array<uint64_t, kBounds.size() + 1> counts{};  // the last one: above all bounds
  uint64_t count = 0;
  double sum = 0;

  void add(double seconds);
};

enum class SeriesKind : uint8_t { kCounter, kGauge, kHistogram };

using Labels = std::vector<std::pair<std::string, std::string>>;
struct Point {
  Labels labels;
  double value = 0;
  DurationHistogram histogram = {};  // of a histogram
};

struct Series {
  std::string name;       // for Prometheus, without the "_total" of a counter
  std::string otlp_name;  // for OpenTelemetry
  std::string unit;       // as UCUM writes it: "s", "By", "{call}"
  std::string help;
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<Point> points;
};

// Both forms of text that Prometheus reads: "text/plain; version=0.0.4", and OpenMetrics 1.0.
std::string prometheus_text(const std::vector<Series> &all, bool open_metrics);
const char *prometheus_type(bool open_metrics);

// Of this process, as other clients of Prometheus name them.
void add_process_metrics(std::vector<Series> &all);

}  // namespace opd
