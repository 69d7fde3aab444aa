// The metrics of a telemetry session: numbers with labels, read at one moment, then written in any format.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/model/trace.h"

namespace opd {

// A histogram of durations. The bounds are 1, 2 and 5 times each power of ten, from 1 µs to 100 s.
struct DurationHistogram {
  static constexpr std::array<double, 25> kBounds{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4,
                                                  1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,  0.2,  0.5,
                                                  1,    2,    5,    10,   20,   50,   100};
  std::array<uint64_t, kBounds.size() + 1> counts{};  // the last one counts values above all bounds
  uint64_t count = 0;
  double sum = 0;

  void add(double seconds);
};

enum class SeriesKind : uint8_t { kCounter, kGauge, kHistogram };

using Labels = std::vector<std::pair<std::string, std::string>>;
struct Point {
  Labels labels;
  double value = 0;
  DurationHistogram histogram = {};  // for histograms only
};

struct Series {
  std::string name;       // name in Prometheus, without the "_total" of counters
  std::string otlp_name;  // name in OpenTelemetry
  std::string unit;       // in UCUM: "s", "By", "{call}"
  std::string help;
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<Point> points = {};
};

// A series of one value without labels.
inline Series single(const char *name, const char *otlp_name, const char *unit, const char *help, SeriesKind kind,
                     double value) {
  return {name, otlp_name, unit, help, kind, {{{}, value}}};
}

// Writes either of Prometheus's text formats: "text/plain; version=0.0.4" or OpenMetrics 1.0.
std::string prometheus_text(const std::vector<Series> &all, bool open_metrics);

// Adds metrics of this process, named as by other clients of Prometheus.
void add_process_metrics(std::vector<Series> &all);

// Counters and durations of calls, computed from events. Cost: about 20 ns for each event, on the thread that reads
// them.
class CallMetrics {
 public:
  // Limits the label sets of each metric; values of further ones have the labels "other".
  explicit CallMetrics(size_t max_series) : max_series_(max_series) {}

  // Reads ended spans: each event must be added only once.
  void add(const TraceParts &parts);
  void write(std::vector<Series> &all, bool per_operator) const;

 private:
  struct Row {
    Labels labels;
    uint64_t errors = 0;
    DurationHistogram durations = {};  // of operators only the number and the sum
  };
  struct Table {
    std::vector<Row> rows;
    std::unordered_map<uint64_t, size_t> places;
    size_t other = SIZE_MAX;  // row for values without room; SIZE_MAX: none
  };

  template <class Name>
  Row &row_of(Table &table, uint64_t key, const Name &name);

  const size_t max_series_;
  Table functions_, operators_;
  uint64_t num_folded_ = 0;  // calls counted under the labels "other"
};

}  // namespace opd
