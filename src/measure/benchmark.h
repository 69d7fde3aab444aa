// Computes statistics of repeated measurements of a call.
#pragma once
#include <string>
#include <vector>

#include "stats/distributions.h"
#include "value/value.h"

namespace opd {

struct Benchmark : Object {
  // Settings and conditions of the measurement. All 0: the times were measured elsewhere.
  struct Course {
    int64_t number = 0, warmup_count = 0;
    size_t concurrency = 1;       // number of values per repeat
    bool is_steady = false;       // the warm-up ended because the times stopped changing
    bool is_device_time = false;  // the times are the device's own
    double calls_per_second = 0;
  };

  static int32_t type() { return registered_type<"opdyno.Benchmark">(); }
  explicit Benchmark(std::vector<double> results, Course course);

  const std::vector<double> seconds;  // per call, in the order of measurement; at least one
  const Course course;
  std::vector<double> repeats() const;  // the mean of each repeat's values
  double mean() const;
  double std() const;                       // population standard deviation
  double percentile(double percent) const;  // interpolated; `percent` is clamped to 0 … 100
  double min() const { return sorted_.front(); }
  double max() const { return sorted_.back(); }
  struct Reliability {
    double low, high;  // 95 % interval of the median
    double autocorrelation;
    int64_t num_outliers;
    bool is_noisy;
  };
  Reliability reliability() const;
  std::string to_text() const;  // has the form of TVM's BenchmarkResult

 private:
  double mixed_tails(double tail, double inflation, const AutocorrelationGrid::Weights &weights) const;

  std::vector<double> sorted_;
};

}  // namespace opd
