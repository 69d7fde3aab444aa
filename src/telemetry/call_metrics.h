// Counters and durations of calls, made of events. Cost: some 20 ns for each event, on the thread that reads them.
#pragma once
#include <unordered_map>
#include <vector>

#include "telemetry/metric.h"
#include "trace/model/trace.h"

namespace opd {

class CallMetrics {
 public:
  // A metric has at most so many label sets; values of further ones have the labels "other".
  explicit CallMetrics(size_t max_series) : max_series_(max_series) {}

  // Those that ended: each event is to be added once.
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
    size_t other = SIZE_MAX;  // the row of what finds no room; SIZE_MAX: there is none
  };

  template <class Row, class Name>
  Row &row_of(Table<Row> &table, uint64_t key, const Name &name);

  const size_t max_series_;
  Table<Function> functions_;
  Table<Operator> operators_;
  uint64_t num_folded_ = 0;  // calls that had the labels "other"
};

// The message of the error that ended the run; data() is null if none did. Of recordings that ask for outcomes.
std::string_view failure_of(const Event &run);

}  // namespace opd
