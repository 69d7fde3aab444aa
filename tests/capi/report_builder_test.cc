// Reports made by hand, kinds of metrics, and kinds that TVM does not know.
#include "support/opdyno_test.h"

namespace {

using opdyno::arg;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno_test::expect_error;

namespace {

// The code of the error that asking for a metric ends with.
opd_code kind_of(const Report &report, opd_report_section section, size_t row, const char *name) {
  opdyno::Value value;
  opd_metric_kind kind = OPD_METRIC_NONE;
  opd_error *error = opd_report_get(report.get(), section, row, name, value.out(), &kind);
  const opd_code code = opd_error_code(error);
  opd_error_release(error);
  return code;
}

}  // namespace

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
  builder.set_device("cpu1", "i", OPD_METRIC_COUNT, arg(5));
  builder.set_configuration("h", OPD_METRIC_HERTZ, arg(4));
  const Report made = builder.finish();
  for (const Report &report : {made, Report::from_json(made.json())}) {
    const auto kind = [&](const char *column) { return report.kind(OPD_REPORT_CALLS, 0, column); };
    EXPECT_EQ(kind("Name"), OPD_METRIC_STRING);
    EXPECT_EQ(kind("a"), OPD_METRIC_COUNT);
    EXPECT_EQ(kind("b"), OPD_METRIC_DURATION);
    EXPECT_EQ(kind("c"), OPD_METRIC_PERCENT);
    EXPECT_EQ(kind("d"), OPD_METRIC_RATIO);
    EXPECT_EQ(kind("e (bytes)"), OPD_METRIC_BYTES);
    EXPECT_EQ(kind("f (Hz)"), OPD_METRIC_HERTZ);
    EXPECT_EQ(kind_of(report, OPD_REPORT_CALLS, 0, "e"), OPD_NOT_FOUND);
    EXPECT_EQ(report.kind(OPD_REPORT_CALLS, 1, "a"), OPD_METRIC_NONE);
    EXPECT_EQ(kind_of(report, OPD_REPORT_CALLS, 2, "a"), OPD_OUT_OF_RANGE);
    EXPECT_EQ(report.kind(OPD_REPORT_DEVICES, 0, "g (bytes)"), OPD_METRIC_BYTES);
    EXPECT_EQ(report.kind(OPD_REPORT_DEVICES, 1, "g (bytes)"), OPD_METRIC_NONE) << "another device has it";
    EXPECT_EQ(kind_of(report, OPD_REPORT_DEVICES, 2, "g (bytes)"), OPD_OUT_OF_RANGE);
    EXPECT_EQ(report.kind(OPD_REPORT_CONFIGURATION, 0, "h (Hz)"), OPD_METRIC_HERTZ);
    EXPECT_EQ(kind_of(report, OPD_REPORT_CONFIGURATION, 0, nullptr), OPD_INVALID_ARGUMENT);
    EXPECT_EQ(kind_of(report, OPD_REPORT_CONFIGURATION, 1, "h (Hz)"), OPD_OUT_OF_RANGE);
    opdyno::Value bytes, hertz;
    opdyno::check(opd_report_get(report.get(), OPD_REPORT_CALLS, 0, "e (bytes)", bytes.out(), nullptr));
    opdyno::check(opd_report_get(report.get(), OPD_REPORT_CALLS, 0, "f (Hz)", hertz.out(), nullptr));
    EXPECT_EQ(bytes.type(), OPD_INT);
    EXPECT_EQ(hertz.type(), OPD_FLOAT);
    opdyno::Handle<opd_array> names;
    opdyno::check(opd_report_list(report.get(), OPD_REPORT_DEVICES, names.out()));
    EXPECT_EQ(opdyno::Value::retain(arg(names)).to_string(), R"-(["Device", "g (bytes)", "i"])-");
    EXPECT_EQ(report.value(OPD_REPORT_DEVICES, 1, "Device").to_string(), "\"cpu1\"");
  }
  const Report newer = Report::from_json(R"-({"calls":[{"x":{"furlongs":1}}]})-");
  EXPECT_EQ(newer.kind(OPD_REPORT_CALLS, 0, "x"), OPD_METRIC_JSON);
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

TEST(ReportBuilder, RefusesADeviceWhereThereIsNone) {
  const ReportBuilder builder;
  builder.add_call();
  const opd_value one = arg(1);
  const auto set = [&](opd_report_section section, const char *device) {
    return opd_report_builder_set(builder.get(), section, device, "n", OPD_METRIC_COUNT, &one);
  };
  expect_error(set(OPD_REPORT_CALLS, "cpu0"), OPD_INVALID_ARGUMENT, "device must be given for");
  expect_error(set(OPD_REPORT_DEVICES, nullptr), OPD_INVALID_ARGUMENT, "device must be given for");
  expect_error(set(static_cast<opd_report_section>(3), nullptr), OPD_INVALID_ARGUMENT,
               "section must be a section of reports, but is 3");
}

TEST(ReportBuilder, RefusesBadMetricsAndCallsInTheWrongOrder) {
  const ReportBuilder builder;
  const auto set = [&](const char *column, opd_metric_kind kind, const opd_value &value) {
    return opd_report_builder_set(builder.get(), OPD_REPORT_CALLS, nullptr, column, kind, &value);
  };
  expect_error(set("Name", OPD_METRIC_STRING, arg("x")), OPD_FAILED_PRECONDITION, "there is no call yet");
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("x"));
  expect_error(set("Name", OPD_METRIC_STRING, arg("y")), OPD_ALREADY_EXISTS, "\"Name\"");
  expect_error(set("n", OPD_METRIC_COUNT, arg(1.5)), OPD_INVALID_ARGUMENT, "n");
  expect_error(set("n", OPD_METRIC_COUNT, arg("1")), OPD_INVALID_ARGUMENT, "n");
  expect_error(set("n", OPD_METRIC_RATIO, arg("1")), OPD_INVALID_ARGUMENT, "n");
  expect_error(set("n", OPD_METRIC_STRING, arg(1)), OPD_INVALID_ARGUMENT, "n");
  expect_error(set("n", OPD_METRIC_NONE, arg(1)), OPD_INVALID_ARGUMENT, "must be a kind of metrics");
  expect_error(set("n", OPD_METRIC_JSON, arg("{}")), OPD_INVALID_ARGUMENT, "must be a kind of metrics");
  expect_error(set("n", static_cast<opd_metric_kind>(99), arg(1)), OPD_INVALID_ARGUMENT, "99");
  expect_error(set("n", OPD_METRIC_STRING, arg("\xFF")), OPD_INVALID_ARGUMENT, "UTF-8");
  expect_error(set("\xFF", OPD_METRIC_COUNT, arg(1)), OPD_INVALID_ARGUMENT, "UTF-8");
  expect_error(set(nullptr, OPD_METRIC_COUNT, arg(1)), OPD_INVALID_ARGUMENT, "NULL");
  const opd_value one = arg(1);
  builder.set_device("cpu0", "Memory", OPD_METRIC_BYTES, one);
  expect_error(
      opd_report_builder_set(builder.get(), OPD_REPORT_DEVICES, "cpu0", "Memory (bytes)", OPD_METRIC_COUNT, &one),
      OPD_ALREADY_EXISTS, "cpu0");
  builder.set_configuration("k", OPD_METRIC_COUNT, one);
  expect_error(opd_report_builder_set(builder.get(), OPD_REPORT_CONFIGURATION, nullptr, "k", OPD_METRIC_COUNT, &one),
               OPD_ALREADY_EXISTS, "k");
  EXPECT_EQ(opd_report_call_count(builder.finish().get()), 1);
  opd_report *second = nullptr;
  expect_error(opd_report_builder_finish(builder.get(), &second), OPD_FAILED_PRECONDITION, "taken");
  expect_error(opd_report_builder_add_call(builder.get()), OPD_FAILED_PRECONDITION, "taken");
  expect_error(set("n", OPD_METRIC_COUNT, one), OPD_FAILED_PRECONDITION, "taken");
}

}  // namespace
