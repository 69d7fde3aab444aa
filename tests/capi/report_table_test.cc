// Tables of reports: joined rows, sums, order, columns.
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "support/report_rows.h"

namespace {

using namespace report_rows;
using opdyno_test::expect_error;

std::vector<std::string> first_words(const std::string &table, size_t count) {
  std::vector<std::string> words;
  std::istringstream lines(table);
  for (std::string line; words.size() < count && std::getline(lines, line);)
    words.push_back(line.substr(0, line.find(' ')));
  return words;
}

TEST(Report, JoinsCallsOfOneOperatorWithEqualShapesOnOneDevice) {
  const std::string
      a = ",\"Argument Shapes\":{\"string\":\"float32[4]\"},\"Device\":{\"string\":\"cpu0\"},\"Count\":{\"count\":1},"
          "\"Percent\":{\"percent\":10.0},\"IPC\":{\"ratio\":",
      b = ",\"Argument Shapes\":{\"string\":\"float32[8]\"},\"Device\":{\"string\":\"cpu0\"},\"Count\":{\"count\":1},"
          "\"Percent\":{\"percent\":10.0},\"IPC\":{\"ratio\":";
  const JsonReport report(calls(call_row("add", 1.5, a + "1.0}") + "," + call_row("add", 5, b + "4.0}") + "," +
                                call_row("add", 2.25, a + "2.0}")));
  // 1.5 + 2.25 = 3.75; ratios 1.0 and 2.0 average 1.5 and are not summed; 5 + 3.75 = 8.75; 3 × 10 % = 30 %.
  EXPECT_EQ(
      report.table(),
      "Name        Duration (us)  Percent  Device  Count  Argument Shapes  Median (us)  Min (us)  Max (us)  IPC  \n"
      "add                  5.00    10.00    cpu0      1       float32[8]         5.00      5.00      5.00    4  \n"
      "add                  3.75    20.00    cpu0      2       float32[4]         1.88      1.50      2.25  1.5  \n"
      "----------                                                                                                \n"
      "Sum                  8.75    30.00              3                                                         \n"
      "\nConfiguration\n-------------\n");
}

// Two calls of 1000 operations each, in 1 µs and in 3 µs, on 100 bytes and on 300: 2000 operations in 4 µs are
// 0.5 GFLOP/s, though the mean of 1 and 1/3 is 0.67; on 400 bytes they are 5 a byte. At the peak the calls would take
// 0.4 µs and 0.9 µs: 1.3 of 4 µs are 32.5 %, though 40 % and 30 % have the sum 70 %.
TEST(Report, RatesOfJoinedCallsComeFromTheirSums) {
  const auto call = [](double us, const char *rate, const char *bytes, const char *intensity, const char *percent) {
    return call_row("add", us,
                    std::string(",\"FLOP\":{\"count\":1000},\"GFLOP/s\":{\"ratio\":") + rate +
                        "},\"Tensors (bytes)\":{\"count\":" + bytes +
                        "},\"Arithmetic Intensity (FLOP/byte)\":{\"ratio\":" + intensity +
                        "},\"Percent of Peak\":{\"percent\":" + percent + "}");
  };
  const JsonReport report(calls(call(1, "1.0", "100", "10", "40") + "," + call(3, "0.3333", "300", "3.3333", "30")));
  const std::string table = report.table();
  const std::string rates = "        5  2000      0.5            32.50              400  \n";  // in the columns' order
  EXPECT_NE(table.find(rates), std::string::npos) << table;
  EXPECT_NE(table.find(rates, table.find("\nSum")), std::string::npos) << "of all calls, too\n" << table;
}

TEST(Report, RatesOfCallsWithoutOneAreNotGuessed) {
  const std::string rate = ",\"GFLOP/s\":{\"ratio\":";
  const JsonReport report(
      calls(call_row("a", 2, rate + "6.0}") + "," + call_row("a", 4, rate + "3.0}") + "," + call_row("a", 1000)));
  EXPECT_NE(report.table(1, 1, 0).find("1006.00"), std::string::npos);
  EXPECT_NE(report.table(1, 1, 0).find("        4  \n"), std::string::npos)
      << "6 for 2 µs and 3 for 4 µs are 24 in 6; nothing is known of the third\n"
      << report.table(1, 1, 0);
}

TEST(Report, KeepsOtherMetricsOnlyIfAllCallsAgree) {
  const auto at = [](const char *start, const char *run) {
    return std::string(",\"Start (us)\":{\"microseconds\":") + start + "},\"Run\":{\"count\":" + run + "}";
  };
  const JsonReport report(calls(call_row("a", 1, at("10", "7")) + "," + call_row("a", 1, at("20", "7"))));
  EXPECT_EQ(report.table(0, 1, 1),
            "Name        Duration (us)  Percent  Device  Count  Argument Shapes  Median (us)  Min (us)  Max (us)  Run  "
            "Start (us)  \n"
            "a                    2.00                                                  1.00      1.00      1.00    7  "
            "            \n"
            "----------                                                                                                "
            "            \n"
            "Sum                  2.00                                                                                 "
            "            \n"
            "\nConfiguration\n-------------\n");
}

// A function of 10 µs that calls a kernel of 7 µs: together they take 10 µs, not 17. The kernel's count is a call.
TEST(Report, SumsCountNestedTimeOnce) {
  const std::string one = ",\"Count\":{\"count\":1},\"cycles\":{\"count\":", depth = "},\"Depth\":{\"count\":1}";
  const JsonReport report(
      calls(call_row("kernel", 7, one + "70" + depth) + "," + call_row("function", 10, one + "100}")));
  EXPECT_NE(report.table().find("\nSum                 10.00                       2                      100  \n"),
            std::string::npos)
      << report.table();
  EXPECT_EQ(report.table().find("Depth"), std::string::npos) << "is for readers of the file";
}

// A function of 10 µs that calls itself for 7 µs, in which a kernel of 2 µs runs.
TEST(Report, AJoinedRowCountsARecursiveCallOnce) {
  const auto more = [](int self, int depth, bool recursive) {
    return ",\"Percent\":{\"percent\":" + std::to_string(self * 10) +
           "},\"Count\":{\"count\":1},\"cycles\":{\"count\":" + std::to_string(self) +
           "},\"Self (us)\":{\"microseconds\":" + std::to_string(self) +
           "},\"Depth\":{\"count\":" + std::to_string(depth) + "}" +
           (recursive ? ",\"Recursive Calls\":{\"count\":1}" : "");
  };
  const JsonReport report(calls(call_row("kernel", 2, more(2, 2, false)) + "," + call_row("f", 7, more(7, 1, true)) +
                                "," + call_row("f", 10, more(10, 0, false))));
  const std::string table = report.table(0, 1, 0);
  EXPECT_NE(table.find("\nf               10.00   100.00              2 "), std::string::npos) << table;
  const std::string whole = report.table(0, 0, 0);
  EXPECT_NE(whole.find("\nf                7.00"), std::string::npos) << "a row of one call keeps its time: " << whole;
}

TEST(Report, ShowsADurationBelowTheResolutionAsLess) {
  const JsonReport report(calls(call_row("fast", 0) + "," + call_row("slow", 0.005) + "," + call_row("tiny", 0.0049)));
  const std::string table = report.table(0, 0, 0);
  EXPECT_NE(table.find("\nfast          <0.01 "), std::string::npos) << table;
  EXPECT_NE(table.find("\nslow           0.01 "), std::string::npos) << table;
  EXPECT_NE(table.find("\ntiny          <0.01 "), std::string::npos) << table;
}

TEST(Report, JoinsByHashWhereThereIsOne) {
  const JsonReport report(calls(call_row("a", 1, ",\"Hash\":{\"string\":\"h\"}") + "," +
                                call_row("b", 2, ",\"Hash\":{\"string\":\"h\"}") + "," + call_row("h", 4)));
  // The two of hash h make a row without a common name; the operator called h is another one.
  const std::string table = report.table(1, 1, 0);
  EXPECT_NE(table.find("\n               3.00"), std::string::npos) << table;
  EXPECT_NE(table.find("\nh              4.00"), std::string::npos) << table;
}

TEST(Report, KeepsTheOrderOfFirstAppearanceWithoutSorting) {
  const JsonReport report(
      calls(call_row("b", 1) + "," + call_row("a", 9) + "," + call_row("b", 1) + "," + call_row("c", 3)));
  EXPECT_EQ(first_words(report.table(0, 1, 0), 4), (std::vector<std::string>{"Name", "b", "a", "c"}));
}

TEST(Report, SortsByDescendingDurationAndLeavesEqualOnesInOrder) {
  const JsonReport report(calls(call_row("x", 1) + ",{\"Name\":{\"string\":\"none\"}}," + call_row("y", 2) + "," +
                                call_row("z", 1) +
                                ",{\"Name\":{\"string\":\"nan\"},\"Duration (us)\":{\"microseconds\":null}}"));
  EXPECT_EQ(first_words(report.table(1, 0, 0), 6), (std::vector<std::string>{"Name", "y", "x", "z", "none", "nan"}));
}

TEST(Report, DoesNotAddMetricsOfDifferentKinds) {
  const JsonReport report(
      calls("{\"Name\":{\"string\":\"a\"},\"M\":{\"count\":1}},{\"Name\":{\"string\":\"a\"},\"M\":{\"percent\":2.0}},"
            "{\"Name\":{\"string\":\"a\"},\"M\":{\"count\":1}}"));
  EXPECT_NE(report.table().find("\na                                                                      \n"),
            std::string::npos)
      << report.table();
  EXPECT_NE(
      report.table(0, 0, 1).find("\nSum                                                                       \n"),
      std::string::npos)
      << report.table(0, 0, 1);
}

TEST(Report, SumsOfCountsStopAtTheirLargestValue) {
  const std::string row = "{\"Name\":{\"string\":\"a\"},\"Count\":{\"count\":9223372036854775807}}";
  const std::string table = JsonReport(calls(row + "," + row)).table();
  EXPECT_NE(table.find("\nSum                                         9223372036854775807"), std::string::npos)
      << table;
}

TEST(Report, AlignsNamesByCodePoints) {
  const JsonReport report(calls(call_row("größe", 1) + "," + call_row("groesse", 2)));
  const std::string table = report.table(1, 1, 0);
  EXPECT_NE(table.find("\ngroesse           2.00"), std::string::npos) << table;
  EXPECT_NE(table.find("\ngröße             1.00"), std::string::npos) << table;
}

TEST(Report, KeepsARowOnOneLine) {
  const JsonReport report(calls("{\"Name\":{\"string\":\"two\\nlines\\u001b[31m\\u009b1mé\"}}"));
  EXPECT_NE(report.table().find("\ntwo lines [31m 1mé"), std::string::npos) << report.table();
}

TEST(Report, WritesTablesOfNothing) {
  EXPECT_EQ(JsonReport("{\"calls\":[]}").table(),
            "Name        Duration (us)  Percent  Device  Count  Argument Shapes  \n"
            "----------                                                          \n"
            "Sum                                                                 \n"
            "\nConfiguration\n-------------\n");
  EXPECT_EQ(JsonReport("{\"calls\":[]}").csv(), "\n");
  EXPECT_EQ(JsonReport("{\"calls\":[]}").json(), "{\"calls\":[],\"device_metrics\":{},\"configuration\":{}}");
}

TEST(Report, RefusesUnknownTableOptions) {
  struct {
    opd_report_write_options known;
    int32_t newer;
  } options{};
  opd_report_write_options_init(&options.known);
  options.known.struct_size = sizeof options;
  options.newer = 1;
  const JsonReport report("{\"calls\":[]}");
  opd_buffer *out = nullptr;
  expect_error(opd_report_write(report.get(), OPD_REPORT_TABLE, &options.known, &out), OPD_UNSUPPORTED,
               "does not know");
  EXPECT_EQ(out, nullptr);
}

TEST(Report, RefusesATableThatWouldBeFarLargerThanTheReport) {
  std::string rows;  // 20 000 rows, each with a metric of its own: 4 × 10^8 cells
  for (int i = 0; i < 20000; ++i) rows += (i ? ",{\"m" : "{\"m") + std::to_string(i) + "\":{\"count\":1}}";
  const JsonReport report(calls(rows));
  opd_buffer *out = nullptr;
  opd_report_write_options options;
  opd_report_write_options_init(&options);
  options.aggregate = 0;
  expect_error(opd_report_write(report.get(), OPD_REPORT_TABLE, &options, &out), OPD_UNSUPPORTED, "columns");
  expect_error(opd_report_write(report.get(), OPD_REPORT_CSV, nullptr, &out), OPD_UNSUPPORTED, "columns");
  EXPECT_EQ(report.json(), "{\"calls\":[" + rows + "],\"device_metrics\":{},\"configuration\":{}}");
  EXPECT_EQ(report.call(19999, "m19999").view().u.int64, 1);
  EXPECT_EQ(report.call(19999, "m19998").type(), OPD_NONE);
}

// One name of 2^20 characters makes each of 2100 rows as wide: 2 GiB and more, of a report of 1 MiB.
TEST(Report, RefusesATableOfMoreThan2GiB) {
  std::string rows = call_row(std::string(1 << 20, 'x'), 1);
  for (int i = 1; i < 2100; ++i) rows += "," + call_row("a", 1);
  const JsonReport report(calls(rows));
  opd_report_write_options options;
  opd_report_write_options_init(&options);
  options.aggregate = options.col_sums = 0;
  opd_buffer *out = nullptr;
  // The columns after the name: 13, 7, 6, 5 and 15, each with two spaces, and the end of the line.
  const int width = (1 << 20) + 2 + 15 + 9 + 8 + 7 + 17 + 1;
  expect_error(opd_report_write(report.get(), OPD_REPORT_TABLE, &options, &out), OPD_UNSUPPORTED,
               "a table of 2101 rows of " + std::to_string(width) + " characters exceeds 2147483648 bytes");
}

TEST(Report, HasColumnsOfMetricsThatOnlyDevicesHave) {
  const JsonReport report(R"({"calls":[{"Name":{"string":"a"}}],"device_metrics":{)"
                          R"("cpu0":{"Watt":{"count":7}},"gpu":{"Amp":{"ratio":0}}}})");
  EXPECT_EQ(report.table(),
            "Name        Duration (us)  Percent  Device  Count  Argument Shapes  Amp  Watt  \n"
            "a                                                                              \n"
            "----------                                                                     \n"
            "Sum                                                                            \n"
            "Total                                                                       7  \n"
            "Total                                                                 0        \n"
            "\nConfiguration\n-------------\n");
  EXPECT_NE(report.json().find(R"("gpu":{"Amp":{"ratio":0.00000000000000000}})"), std::string::npos) << report.json();
}

// The median is that of the numbers; a duration that is not a number, or none, is left out.
TEST(Report, HasTheSpreadOfJoinedDurationsThatAreNumbers) {
  std::string calls;
  const auto add = [&](const std::string &name, const std::string &us) {
    calls += (calls.empty() ? "" : ",") + ("{\"Name\":{\"string\":\"" + name + "\"}");
    calls += us.empty() ? "}" : ",\"Duration (us)\":{\"microseconds\":" + us + "}}";
  };
  for (const char *us : {"4", "null", "1", "", "3"}) add("a", us);
  for (const char *us : {"null", ""}) add("b", us);
  for (const char *us : {"2", "5"}) add("c", us);
  const JsonReport report("{\"calls\":[" + calls + "]}");
  std::istringstream table(report.table(0, 1, 0));
  const auto words = [&] {
    std::string line, word;
    std::getline(table, line);
    std::istringstream in(line);
    std::vector<std::string> found;
    while (in >> word) found.push_back(word);
    return found;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words(), (Words{"Name", "Duration", "(us)", "Percent", "Device", "Count", "Argument", "Shapes", "Median",
                            "(us)", "Min", "(us)", "Max", "(us)"}));
  EXPECT_EQ(words(), (Words{"a", "nan", "3.00", "1.00", "4.00"}));
  EXPECT_EQ(words(), (Words{"b", "nan"}));
  EXPECT_EQ(words(), (Words{"c", "7.00", "3.50", "2.00", "5.00"}));
}

}  // namespace
