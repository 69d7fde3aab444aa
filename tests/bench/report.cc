// A profile's report as text and back. The large one has as many rows as 30 runs of the chain.
#include <opdyno/opdyno.hpp>

#include "chain.h"
#include "harness.h"

namespace {

using opdyno::check;

const bench::AddRow table("report_table_chain", "ms", [] {
  const opdyno::Report report = bench::Chain().profile(1);
  opd_report_write_options options;
  opd_report_write_options_init(&options);
  options.aggregate = 0;
  return bench::timed(1e6, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) report.table(&options);
  });
});

constexpr int kRows = 30060;

// What a profile of a network looks like: few names, many durations.
opdyno::Report large(int rows) {
  opdyno::ReportBuilder builder;
  for (int row = 0; row < rows; ++row) {
    const double us = 0.4 + row % 997 * 1.37 + row * 1e-4;
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, opdyno::arg("fused_conv2d_add_relu" + std::to_string(row % 60)));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, opdyno::arg(us));
    builder.set_call("Percent", OPD_METRIC_PERCENT, opdyno::arg(us / 2e5));
    builder.set_call("Device", OPD_METRIC_STRING, opdyno::arg("cpu0"));
    builder.set_call("Count", OPD_METRIC_COUNT, opdyno::arg(1));
    builder.set_call("Argument Shapes", OPD_METRIC_STRING,
                     opdyno::arg("float32[1, " + std::to_string(row % 60) + ", 56, 56], float32[64, 64, 3, 3]"));
  }
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, opdyno::arg(2e7));
  builder.set_configuration("Executor", OPD_METRIC_STRING, opdyno::arg("VM"));
  return builder.finish();
}

template <class F>
void add(const char *name, int rows, F once) {
  bench::AddRow(name, "ms", [=] {
    const opdyno::Report report = large(bench::settings().quick ? 100 : rows);
    return bench::timed(1e6, [=](int64_t n) {
      for (int64_t i = 0; i < n; ++i) once(report);
    });
  });
}

const bool added = [] {
  add("report_json", kRows, [](const opdyno::Report &report) { report.json(); });
  add("report_csv", kRows, [](const opdyno::Report &report) { report.csv(); });
  add("report_table", kRows, [](const opdyno::Report &report) {
    opd_report_write_options options;
    opd_report_write_options_init(&options);
    options.aggregate = 0;
    report.table(&options);
  });
  add("report_arrow", 1000000, [](const opdyno::Report &report) {
    ArrowArrayStream stream;
    check(opd_report_to_arrow(report.get(), &stream));
    ArrowSchema schema;
    ArrowArray batch;
    if (stream.get_schema(&stream, &schema) || stream.get_next(&stream, &batch)) throw bench::Missing("no batch");
    schema.release(&schema);
    batch.release(&batch);
    stream.release(&stream);
  });
  bench::AddRow("report_from_json", "ms", [] {
    const std::string json = large(bench::settings().quick ? 100 : kRows).json();
    return bench::timed(1e6, [=](int64_t n) {
      for (int64_t i = 0; i < n; ++i) opdyno::Report::from_json(json);
    });
  });
  return true;
}();
// 30,000 rows of so many operators.
opdyno::Report large_report(int operators, double factor) {
  std::string json = "{\"calls\":[";
  for (int i = 0; i < 30'000; ++i)
    json += std::string(i ? "," : "") + "{\"Name\":{\"string\":\"operator_" + std::to_string(i % operators) +
            "\"},\"Duration (us)\":{\"microseconds\":" + std::to_string(factor * (1 + i % 17)) +
            "},\"Device\":{\"string\":\"cpu0\"},\"Count\":{\"count\":1},\"Argument Shapes\":{\"string\":\"float32[" +
            std::to_string(i % operators) + "]\"}}";
  json += "]}";
  opdyno::Report report;
  opdyno::check(opd_report_from_json(json.data(), json.size(), report.out()));
  return report;
}

bench::Sampler time_of_diff(int operators) {
  const opdyno::Report before = large_report(operators, 1), after = large_report(operators, 1.1);
  return bench::timed(1e6, [=](int64_t n) {
    const opd_report *const sides[] = {before.get(), after.get()};
    for (int64_t i = 0; i < n; ++i) {
      opdyno::Report made;
      check(opd_report_diff(sides, 1, sides + 1, 1, nullptr, made.out()));
    }
  });
}
const bench::AddRow diff("report_diff", "ms", [] { return time_of_diff(300); });
const bench::AddRow distinct("report_diff_distinct", "ms", [] { return time_of_diff(30'000); });

}  // namespace
