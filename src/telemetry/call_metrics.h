// Counters and durations of calls, computed from events. Cost: some 20 ns for each event, on the thread that reads
// them.
#pragma once
#include <unordered_map>
#include <vector>

#include "telemetry/metric.h"
#include "trace/model/trace.h"

namespace opd {

class CallMetrics {
 public:
  // Limits the label sets of each metric; values of further ones have the labels "other".
  explicit CallMetrics(size_t max_series) : max_series_(max_series) {}

  // Reads ended spans: each event must be added only once.
  void add(const TraceParts &parts);
  void write(std::vector<Series> &all, bool per_operator) const;

 private:
  struct Function {
    Labels labels;
    uint64_t errors = 0;
    DurationHistogram durations = {};
  };
  struct Operator {
    Labels labels;
    uint64_t count = 0, errors = 0;
    double seconds = 0;
  };
  template <class Row>
  struct Table {
    std::vector<Row> rows;
    std::unordered_map<uint64_t, size_t> places;
    size_t other = SIZE_MAX;  // row for values without room; SIZE_MAX: none
  };

  template <class Row, class Name>
  Row &row_of(Table<Row> &table, uint64_t key, const Name &name);

  const size_t max_series_;
  Table<Function> functions_;
  Table<Operator> operators_;
  uint64_t num_folded_ = 0;  // calls counted under the labels "other"
};

// The message of the error that ended the run; data() is null if it succeeded. For recordings that ask for outcomes.
std::string_view failure_of(const Event &run);

}  // namespace opd
