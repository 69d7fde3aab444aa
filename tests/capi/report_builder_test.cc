// Reports made by hand, kinds of metrics, and kinds that TVM does not know.
#include "support/opdyno_test.h"

namespace {

using opdyno::arg;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno_test::expect_error;

TEST(ReportBuilder, MakesTheJsonThatTvmReads) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("add"));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(1.5));
  builder.set_call("Count", OPD_METRIC_COUNT, arg(2));
  builder.set_call("Percent", OPD_METRIC_PERCENT, arg(75));
  builder.set_call("IPC", OPD_METRIC_RATIO, arg(0.5));
  builder.set_call("Peak", OPD_METRIC_BYTES, arg(int64_t{1} << 40));
  builder.set_call("Clock (Hz)", OPD_METRIC_HERTZ, arg(2.5e9));
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(2));
  builder.set_device("cuda0", "Count", OPD_METRIC_COUNT, arg(1));
  builder.set_device("cpu0", "Memory", OPD_METRIC_BYTES, arg(7));
  builder.set_configuration("Executor", OPD_METRIC_STRING, arg("VM"));
  builder.set_configuration("Bus", OPD_METRIC_HERTZ, arg(0.25));
  // 17 digits after the point, as TVM writes them; bytes and hertz are a count and a ratio with a unit.
  EXPECT_EQ(
      builder.finish().json(),
      R"-({"calls":[{"Name":{"string":"add"},"Duration (us)":{"microseconds":1.50000000000000000},)-"
      R"-("Count":{"count":2},"Percent":{"percent":75.00000000000000000},"IPC":{"ratio":0.50000000000000000},)-"
      R"-("Peak (bytes)":{"count":1099511627776},"Clock (Hz)":{"ratio":2500000000.00000000000000000}}],)-"
      R"-("device_metrics":{"cpu0":{"Duration (us)":{"microseconds":2.00000000000000000},"Memory (bytes)":{"count":7}},)-"
      R"-("cuda0":{"Count":{"count":1}}},)-"
      R"-("configuration":{"Executor":{"string":"VM"},"Bus (Hz)":{"ratio":0.25000000000000000}}})-");
}

TEST(ReportBuilder, KindsComeBackFromJson) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("add"));
  builder.set_call("a", OPD_METRIC_COUNT, arg(1));
  builder.set_call("b", OPD_METRIC_DURATION, arg(1));
  builder.set_call("c", OPD_METRIC_PERCENT, arg(1));
  builder.set_call("d", OPD_METRIC_RATIO, arg(1));
  builder.set_call("e", OPD_METRIC_BYTES, arg(1));
  builder.set_call("f", OPD_METRIC_HERTZ, arg(1));
  builder.add_call();
  builder.set_device("cpu0", "g", OPD_METRIC_BYTES, arg(3));
  builder.set_configuration("h", OPD_METRIC_HERTZ, arg(4));
  const Report made = builder.finish();
  for (const Report &report : {made, Report::from_json(made.json())}) {
    const auto kind = [&](const char *column) { return opd_report_call_kind(report.get(), 0, column); };
    EXPECT_EQ(kind("Name"), OPD_METRIC_STRING);
    EXPECT_EQ(kind("a"), OPD_METRIC_COUNT);
    EXPECT_EQ(kind("b"), OPD_METRIC_DURATION);
    EXPECT_EQ(kind("c"), OPD_METRIC_PERCENT);
    EXPECT_EQ(kind("d"), OPD_METRIC_RATIO);
    EXPECT_EQ(kind("e (bytes)"), OPD_METRIC_BYTES);
    EXPECT_EQ(kind("f (Hz)"), OPD_METRIC_HERTZ);
    EXPECT_EQ(kind("e"), OPD_METRIC_NONE);
    EXPECT_EQ(opd_report_call_kind(report.get(), 1, "a"), OPD_METRIC_NONE);
    EXPECT_EQ(opd_report_call_kind(report.get(), 2, "a"), OPD_METRIC_NONE);
    EXPECT_EQ(opd_report_device_kind(report.get(), "cpu0", "g (bytes)"), OPD_METRIC_BYTES);
    EXPECT_EQ(opd_report_device_kind(report.get(), "cpu1", "g (bytes)"), OPD_METRIC_NONE);
    EXPECT_EQ(opd_report_configuration_kind(report.get(), "h (Hz)"), OPD_METRIC_HERTZ);
    EXPECT_EQ(opd_report_configuration_kind(report.get(), nullptr), OPD_METRIC_NONE);
    opdyno::Value bytes, hertz;
    opdyno::check(opd_report_get_call(report.get(), 0, "e (bytes)", bytes.out()));
    opdyno::check(opd_report_get_call(report.get(), 0, "f (Hz)", hertz.out()));
    EXPECT_EQ(bytes.type(), OPD_INT);
    EXPECT_EQ(hertz.type(), OPD_FLOAT);
    opdyno::Handle<opd_array> names;
    opdyno::check(opd_report_list_device_metrics(report.get(), "cpu0", names.out()));
    EXPECT_EQ(opdyno::Value::retain(arg(names)).to_string(), R"-(["g (bytes)"])-");
    opd_array *none = nullptr;
    expect_error(opd_report_list_device_metrics(report.get(), "cpu9", &none), OPD_NOT_FOUND, "it has cpu0");
  }
  const Report newer = Report::from_json(R"-({"calls":[{"x":{"furlongs":1}}]})-");
  EXPECT_EQ(opd_report_call_kind(newer.get(), 0, "x"), OPD_METRIC_JSON);
}

TEST(ReportBuilder, BytesAddUpAndHertzAreAveraged) {
  const ReportBuilder builder;
  for (const int number : {1000, 3000}) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg("add"));
    builder.set_call("Read", OPD_METRIC_BYTES, arg(number));
    builder.set_call("Clock", OPD_METRIC_HERTZ, arg(number * 1e6));
  }
  EXPECT_EQ(builder.finish().table(),
            "Name        Duration (us)  Percent  Device  Count  Argument Shapes  Clock (Hz)  Read (bytes)  \n"
            "add                                                                      2e+09          4000  \n"
            "----------                                                                                    \n"
            "Sum                                                                                     4000  \n"
            "\nConfiguration\n-------------\n");
}

TEST(ReportBuilder, RefusesWhatDoesNotFit) {
  const ReportBuilder builder;
  const auto set = [&](const char *column, opd_metric_kind kind, const opd_value &value) {
    return opd_report_builder_set_call(builder.get(), column, kind, &value);
  };
  expect_error(set("Name", OPD_METRIC_STRING, arg("x")), OPD_FAILED_PRECONDITION, "opd_report_builder_add_call()");
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("x"));
  expect_error(set("Name", OPD_METRIC_STRING, arg("y")), OPD_ALREADY_EXISTS, "\"Name\"");
  expect_error(set("n", OPD_METRIC_COUNT, arg(1.5)), OPD_INVALID_ARGUMENT, "n");
  expect_error(set("n", OPD_METRIC_COUNT, arg("1")), OPD_INVALID_ARGUMENT, "n");
  expect_error(set("n", OPD_METRIC_RATIO, arg("1")), OPD_INVALID_ARGUMENT, "n");
  expect_error(set("n", OPD_METRIC_STRING, arg(1)), OPD_INVALID_ARGUMENT, "n");
  expect_error(set("n", OPD_METRIC_NONE, arg(1)), OPD_INVALID_ARGUMENT, "no kind");
  expect_error(set("n", OPD_METRIC_JSON, arg("{}")), OPD_INVALID_ARGUMENT, "no kind");
  expect_error(set("n", static_cast<opd_metric_kind>(99), arg(1)), OPD_INVALID_ARGUMENT, "99");
  expect_error(set("n", OPD_METRIC_STRING, arg("\xFF")), OPD_INVALID_ARGUMENT, "UTF-8");
  expect_error(set("\xFF", OPD_METRIC_COUNT, arg(1)), OPD_INVALID_ARGUMENT, "UTF-8");
  expect_error(set(nullptr, OPD_METRIC_COUNT, arg(1)), OPD_INVALID_ARGUMENT, "NULL");
  const opd_value one = arg(1);
  builder.set_device("cpu0", "Memory", OPD_METRIC_BYTES, one);
  expect_error(opd_report_builder_set_device(builder.get(), "cpu0", "Memory (bytes)", OPD_METRIC_COUNT, &one),
               OPD_ALREADY_EXISTS, "cpu0");
  builder.set_configuration("k", OPD_METRIC_COUNT, one);
  expect_error(opd_report_builder_set_configuration(builder.get(), "k", OPD_METRIC_COUNT, &one), OPD_ALREADY_EXISTS,
               "k");
  EXPECT_EQ(opd_report_call_count(builder.finish().get()), 1u);
  opd_report *second = nullptr;
  expect_error(opd_report_builder_finish(builder.get(), &second), OPD_FAILED_PRECONDITION, "taken");
  expect_error(opd_report_builder_add_call(builder.get()), OPD_FAILED_PRECONDITION, "taken");
  expect_error(set("n", OPD_METRIC_COUNT, one), OPD_FAILED_PRECONDITION, "taken");
}

}  // namespace
