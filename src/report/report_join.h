// Joins cells of several calls to one cell, depending on the meaning of their column.
#pragma once
#include <span>

#include "report/report.h"

namespace opd {

inline constexpr uint32_t kNoGroup = UINT32_MAX;  // the row is left out

// Returns one cell per group; kNone if the group's cells have no common value.
std::vector<Metric> join_cells(const Report &report, const Column &column, std::span<const uint32_t> group_of_row,
                               size_t num_groups);

// Median, least and largest of the durations of each group's calls.
struct Spread {
  std::vector<Metric> median, least, largest;
};
Spread spread_of(const Column &durations, std::span<const uint32_t> group_of_row, size_t num_groups);

}  // namespace opd
