// A report's calls as an Arrow file (also known as Feather, version 2), which pandas, Polars, DuckDB and Parquet's
// tools read.
#pragma once
#include <string>

#include "cli/support/face.h"

namespace opd::cli {

std::string arrow_file(const Report &report);

}  // namespace opd::cli
