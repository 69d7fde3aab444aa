// Prints a trace as torch.profiler's table: its columns, widths and rounding.
#pragma once
#include <string>

#include "trace_views/key_averages.h"

namespace opd {

struct TraceTableOptions {
  KeyAverageOptions rows;
  std::string_view sort_by;  // a metric, largest first; "": in the order of the first begins
  size_t row_limit = 100;
  size_t max_name_width = 55, max_shapes_width = 80, max_source_width = 75;
  std::string_view header, time_unit;  // time_unit: "s", "ms", "us", or "" to choose a unit for each time
  bool top_level_only = false;         // only outermost spans
};

// Throws OPD_NOT_FOUND for an unknown metric, OPD_INVALID_ARGUMENT for an unknown unit.
std::string trace_table(const Trace &trace, const TraceTableOptions &options);

}  // namespace opd
