// Cells of several calls as one cell, by what their column means.
#pragma once
#include <span>

#include "profile/report.h"

namespace opd {

inline constexpr uint32_t kNoGroup = UINT32_MAX;  // of a row that is left out

// One cell for each of the groups; kNone where nothing can be said of the group's calls together.
std::vector<Metric> join_cells(const Report &report, const Column &column, std::span<const uint32_t> group_of_row,
                               size_t num_groups);

// Median, least and largest of the durations of each group's calls.
struct Spread {
  std::vector<Metric> median, least, largest;
};
Spread spread_of(const Column &durations, std::span<const uint32_t> group_of_row, size_t num_groups);

}  // namespace opd
