// Reads a column's cells row by row.
#pragma once
#include "report/report.h"

namespace opd {

class Cells {
 public:
  explicit Cells(const Column *column) : column_(column) {}  // null: no row has the metric
  Metric at(size_t row) {                                    // `row` must not decrease
    if (!column_ || next_ >= column_->size() || column_->row_of(next_) != row) return {};
    return column_->cell(next_++);
  }

 private:
  const Column *column_;
  size_t next_ = 0;
};

}  // namespace opd
