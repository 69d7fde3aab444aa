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

// Two reports of 30,000 rows: 300 operators of 100 calls in each.
opdyno::Report large_report(double factor) {
  std::string json = "{\"calls\":[";
  for (int i = 0; i < 30'000; ++i)
    json += std::string(i ? "," : "") + "{\"Name\":{\"string\":\"operator_" + std::to_string(i % 300) +
            "\"},\"Duration (us)\":{\"microseconds\":" + std::to_string(factor * (1 + i % 17)) +
            "},\"Device\":{\"string\":\"cpu0\"},\"Count\":{\"count\":1},\"Argument Shapes\":{\"string\":\"float32[" +
            std::to_string(i % 300) + "]\"}}";
  json += "]}";
  opdyno::Report report;
  opdyno::check(opd_report_from_json(json.data(), json.size(), report.out()));
  return report;
}

const bench::AddRow diff("report_diff", "ms", [] {
  const opdyno::Report before = large_report(1), after = large_report(1.1);
  return bench::timed(1e6, [=](int64_t n) {
    const opd_report *const sides[] = {before.get(), after.get()};
    for (int64_t i = 0; i < n; ++i) {
      opdyno::Handle<opd_diff> made;
      opdyno::check(opd_report_diff(sides, 1, sides + 1, 1, nullptr, made.out()));
    }
  });
});

}  // namespace
