// The text table of a profile, one row per call.
#include <opdyno/opdyno.hpp>

#include "chain.h"
#include "harness.h"

namespace {

const bench::AddRow table("report_table", "ms", [] {
  const opdyno::Report report = bench::Chain().profile(1);
  opd_table_options options;
  opd_table_options_init(&options);
  options.aggregate = 0;
  return bench::timed(1e6, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) report.table(&options);
  });
});

}  // namespace
