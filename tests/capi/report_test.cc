// Reports through the C API: TVM's own output reproduced, aggregation, hostile JSON, locales.
#include "support/report_test.h"

#include <cmath>
#include <limits>
#include <locale>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using opdyno::check;
using opdyno::Value;
using opdyno_test::expect_error;
using opdyno_test::report_file;

struct Report : opdyno::Report {
  explicit Report(const std::string &json) { check(opd_report_from_json(json.data(), json.size(), out())); }
  using opdyno::Report::table;
  std::string table(int sort, int aggregate, int col_sums) const {
    opd_report_write_options options;
    opd_report_write_options_init(&options);
    options.sort = sort, options.aggregate = aggregate, options.col_sums = col_sums;
    return table(&options);
  }
  Value call(size_t row, const char *column) const { return opdyno_test::call_value(*this, row, column); }
  std::string call_text(size_t row, const char *column) const { return text_of(call(row, column)); }
  static std::string text_of(const Value &value) {
    const char *data = nullptr;
    size_t size = 0;
    check(opd_string_get(&value.view(), &data, &size));
    return std::string(data, size);
  }
};

// The code and message of a text that must not be read.
std::pair<opd_code, std::string> failure(const std::string &json) {
  opd_report *report = nullptr;
  opd_error *error = opd_report_from_json(json.data(), json.size(), &report);
  EXPECT_NE(error, nullptr) << json;
  EXPECT_EQ(report, nullptr);
  opd_report_release(report);
  std::pair<opd_code, std::string> out{opd_error_code(error), error ? opd_error_message(error) : ""};
  opd_error_release(error);
  return out;
}

std::string calls(const std::string &rows) { return "{\"calls\":[" + rows + "]}"; }
std::string call_row(const std::string &name, double us, const std::string &more = "") {
  return "{\"Name\":{\"string\":\"" + name + "\"},\"Duration (us)\":{\"microseconds\":" + std::to_string(us) + "}" +
         more + "}";
}
std::vector<std::string> first_words(const std::string &table, size_t count) {
  std::vector<std::string> words;
  std::istringstream lines(table);
  for (std::string line; words.size() < count && std::getline(lines, line);)
    words.push_back(line.substr(0, line.find(' ')));
  return words;
}

// ---- TVM's own output

// The median is that of the numbers; a duration that is not a number, or none, is left out.
TEST(Report, OfJoinedCallsHasTheSpreadOfTheDurationsThatAreNumbers) {
  std::string calls;
  const auto add = [&](const std::string &name, const std::string &us) {
    calls += (calls.empty() ? "" : ",") + ("{\"Name\":{\"string\":\"" + name + "\"}");
    calls += us.empty() ? "}" : ",\"Duration (us)\":{\"microseconds\":" + us + "}}";
  };
  for (const char *us : {"4", "null", "1", "", "3"}) add("a", us);
  for (const char *us : {"null", ""}) add("b", us);
  for (const char *us : {"2", "5"}) add("c", us);
  const Report report("{\"calls\":[" + calls + "]}");
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

TEST(Report, WritesTheTableThatTvmPrinted) {
  EXPECT_EQ(Report(report_file("sample.json")).table(), report_file("table.txt"));
}
TEST(Report, WritesTheTableInProgramOrderThatTvmPrinted) {
  EXPECT_EQ(Report(report_file("sample.json")).table(0, 0, 0), report_file("table_program_order.txt"));
}
TEST(Report, WritesTheCsvThatTvmPrinted) {
  EXPECT_EQ(Report(report_file("sample.json")).csv(), report_file("sample.csv"));
}
TEST(Report, WritesTheJsonThatTvmPrinted) {
  EXPECT_EQ(Report(report_file("sample.json")).json(), report_file("sample.json"));
}

TEST(Report, GivesItsMetrics) {
  const Report report(report_file("sample.json"));
  EXPECT_EQ(opd_report_call_count(report.get()), 13u);
  EXPECT_EQ(report.call_text(3, "Name"), "matmul");
  EXPECT_EQ(report.call(3, "Count").type(), OPD_INT);
  EXPECT_EQ(report.call(3, "Count").view().u.int64, 1);
  EXPECT_EQ(report.call(3, "Duration (us)").type(), OPD_FLOAT);
  EXPECT_EQ(report.call(3, "Duration (us)").view().u.float64, 1061.324);
  Value total, threads, executor;
  check(opd_report_get(report.get(), OPD_REPORT_DEVICES, 0, "Duration (us)", total.out(), nullptr));
  EXPECT_EQ(total.view().u.float64, 1480.075);
  check(opd_report_get(report.get(), OPD_REPORT_CONFIGURATION, 0, "Number of threads", threads.out(), nullptr));
  EXPECT_EQ(threads.view().u.int64, 1);
  check(opd_report_get(report.get(), OPD_REPORT_CONFIGURATION, 0, "Executor", executor.out(), nullptr));
  EXPECT_EQ(Report::text_of(executor), "VM");
}

TEST(Report, SaysWhatItHasWhenAskedForWhatItHasNot) {
  const Report report(report_file("sample.json"));
  opd_value value = opd_int(77);
  expect_error(opd_report_get(report.get(), OPD_REPORT_CALLS, 13, "Name", &value, nullptr), OPD_OUT_OF_RANGE, "13");
  expect_error(opd_report_get(report.get(), OPD_REPORT_CALLS, 0, "name", &value, nullptr), OPD_NOT_FOUND,
               "Argument Shapes, Device, Name");
  expect_error(opd_report_get(report.get(), OPD_REPORT_DEVICES, 1, "Count", &value, nullptr), OPD_OUT_OF_RANGE,
               "row 1 of 1");
  expect_error(opd_report_get(report.get(), OPD_REPORT_DEVICES, 0, "Percent", &value, nullptr), OPD_NOT_FOUND,
               "Duration (us)");
  expect_error(opd_report_get(report.get(), OPD_REPORT_CONFIGURATION, 0, "Threads", &value, nullptr), OPD_NOT_FOUND,
               "Number of threads, Executor");
  expect_error(opd_report_get(nullptr, OPD_REPORT_CALLS, 0, "Name", &value, nullptr), OPD_INVALID_ARGUMENT, "NULL");
  EXPECT_EQ(value.u.int64, 77) << "an output was written on failure";
}

// ---- tables

TEST(Report, JoinsCallsOfOneOperatorWithEqualShapesOnOneDevice) {
  const std::string
      a = ",\"Argument Shapes\":{\"string\":\"float32[4]\"},\"Device\":{\"string\":\"cpu0\"},\"Count\":{\"count\":1},"
          "\"Percent\":{\"percent\":10.0},\"IPC\":{\"ratio\":",
      b = ",\"Argument Shapes\":{\"string\":\"float32[8]\"},\"Device\":{\"string\":\"cpu0\"},\"Count\":{\"count\":1},"
          "\"Percent\":{\"percent\":10.0},\"IPC\":{\"ratio\":";
  const Report report(calls(call_row("add", 1.5, a + "1.0}") + "," + call_row("add", 5, b + "4.0}") + "," +
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
  const Report report(calls(call(1, "1.0", "100", "10", "40") + "," + call(3, "0.3333", "300", "3.3333", "30")));
  const std::string table = report.table();
  const std::string rates = "        5  2000      0.5            32.50              400  \n";  // in the columns' order
  EXPECT_NE(table.find(rates), std::string::npos) << table;
  EXPECT_NE(table.find(rates, table.find("\nSum")), std::string::npos) << "of all calls, too\n" << table;
}

TEST(Report, RatesOfCallsWithoutOneAreNotGuessed) {
  const std::string rate = ",\"GFLOP/s\":{\"ratio\":";
  const Report report(
      calls(call_row("a", 2, rate + "6.0}") + "," + call_row("a", 4, rate + "3.0}") + "," + call_row("a", 1000)));
  EXPECT_NE(report.table(1, 1, 0).find("1006.00"), std::string::npos);
  EXPECT_NE(report.table(1, 1, 0).find("        4  \n"), std::string::npos)
      << "6 for 2 µs and 3 for 4 µs are 24 in 6; nothing is known of the third\n"
      << report.table(1, 1, 0);
}

TEST(Report, KeepsWhatIsNoAmountWhereAllCallsAgree) {
  const auto at = [](const char *start, const char *run) {
    return std::string(",\"Start (us)\":{\"microseconds\":") + start + "},\"Run\":{\"count\":" + run + "}";
  };
  const Report report(calls(call_row("a", 1, at("10", "7")) + "," + call_row("a", 1, at("20", "7"))));
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
TEST(Report, SumsCountACallWithinAnotherOneOnce) {
  const std::string one = ",\"Count\":{\"count\":1},\"cycles\":{\"count\":", depth = "},\"Depth\":{\"count\":1}";
  const Report report(calls(call_row("kernel", 7, one + "70" + depth) + "," + call_row("function", 10, one + "100}")));
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
  const Report report(calls(call_row("kernel", 2, more(2, 2, false)) + "," + call_row("f", 7, more(7, 1, true)) + "," +
                            call_row("f", 10, more(10, 0, false))));
  const std::string table = report.table(0, 1, 0);
  EXPECT_NE(table.find("\nf               10.00   100.00              2 "), std::string::npos) << table;
  const std::string whole = report.table(0, 0, 0);
  EXPECT_NE(whole.find("\nf                7.00"), std::string::npos) << "a row of one call keeps its time: " << whole;
}

TEST(Report, SaysOfADurationBelowTheResolutionThatItIsLess) {
  const Report report(calls(call_row("fast", 0) + "," + call_row("slow", 0.0051) + "," + call_row("tiny", 0.0049)));
  const std::string table = report.table(0, 0, 0);
  EXPECT_NE(table.find("\nfast          <0.01 "), std::string::npos) << table;
  EXPECT_NE(table.find("\nslow           0.01 "), std::string::npos) << table;
  EXPECT_NE(table.find("\ntiny          <0.01 "), std::string::npos) << table;
  opdyno_test::Report read;
  check(opd_report_from_table(table.data(), table.size(), read.out()));
  EXPECT_NE(read.table(nullptr).find("\nfast                <0.01 "), std::string::npos) << "is read back";
}

TEST(Report, JoinsByHashWhereThereIsOne) {
  const Report report(calls(call_row("a", 1, ",\"Hash\":{\"string\":\"h\"}") + "," +
                            call_row("b", 2, ",\"Hash\":{\"string\":\"h\"}") + "," + call_row("h", 4)));
  // The two of hash h make a row without a common name; the operator called h is another one.
  const std::string table = report.table(1, 1, 0);
  EXPECT_NE(table.find("\n               3.00"), std::string::npos) << table;
  EXPECT_NE(table.find("\nh              4.00"), std::string::npos) << table;
}

TEST(Report, KeepsTheOrderOfFirstAppearanceWithoutSorting) {
  const Report report(
      calls(call_row("b", 1) + "," + call_row("a", 9) + "," + call_row("b", 1) + "," + call_row("c", 3)));
  EXPECT_EQ(first_words(report.table(0, 1, 0), 4), (std::vector<std::string>{"Name", "b", "a", "c"}));
}

TEST(Report, SortsByDescendingDurationAndLeavesEqualOnesInOrder) {
  const Report report(calls(call_row("x", 1) + ",{\"Name\":{\"string\":\"none\"}}," + call_row("y", 2) + "," +
                            call_row("z", 1) +
                            ",{\"Name\":{\"string\":\"nan\"},\"Duration (us)\":{\"microseconds\":null}}"));
  EXPECT_EQ(first_words(report.table(1, 0, 0), 6), (std::vector<std::string>{"Name", "y", "x", "z", "none", "nan"}));
}

TEST(Report, DoesNotAddWhatCannotBeAdded) {
  const Report report(
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
  const std::string table = Report(calls(row + "," + row)).table();
  EXPECT_NE(table.find("\nSum                                         9223372036854775807"), std::string::npos)
      << table;
}

TEST(Report, AlignsNamesByCodePoints) {
  const Report report(calls(call_row("größe", 1) + "," + call_row("groesse", 2)));
  const std::string table = report.table(1, 1, 0);
  EXPECT_NE(table.find("\ngroesse           2.00"), std::string::npos) << table;
  EXPECT_NE(table.find("\ngröße             1.00"), std::string::npos) << table;
}

TEST(Report, KeepsARowOnOneLine) {
  const Report report(calls("{\"Name\":{\"string\":\"two\\nlines\\u001b[31m\\u009b1mé\"}}"));
  EXPECT_NE(report.table().find("\ntwo lines [31m 1mé"), std::string::npos) << report.table();
}

TEST(Report, WritesTablesOfNothing) {
  EXPECT_EQ(Report("{\"calls\":[]}").table(),
            "Name        Duration (us)  Percent  Device  Count  Argument Shapes  \n"
            "----------                                                          \n"
            "Sum                                                                 \n"
            "\nConfiguration\n-------------\n");
  EXPECT_EQ(Report("{\"calls\":[]}").csv(), "\n");
  EXPECT_EQ(Report("{\"calls\":[]}").json(), "{\"calls\":[],\"device_metrics\":{},\"configuration\":{}}");
}

TEST(Report, RefusesTableOptionsItDoesNotKnow) {
  struct {
    opd_report_write_options known;
    int32_t newer;
  } options{};
  opd_report_write_options_init(&options.known);
  options.known.struct_size = sizeof options;
  options.newer = 1;
  const Report report("{\"calls\":[]}");
  opd_buffer *out = nullptr;
  expect_error(opd_report_write(report.get(), OPD_REPORT_TABLE, &options.known, &out), OPD_UNSUPPORTED,
               "does not know");
  EXPECT_EQ(out, nullptr);
}

TEST(Report, RefusesATableThatWouldBeFarLargerThanTheReport) {
  std::string rows;  // 20 000 rows, each with a metric of its own: 4 × 10^8 cells
  for (int i = 0; i < 20000; ++i) rows += (i ? ",{\"m" : "{\"m") + std::to_string(i) + "\":{\"count\":1}}";
  const Report report(calls(rows));
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

// ---- CSV

TEST(Report, QuotesTextInCsv) {
  const Report report(calls(
      "{\"Name\":{\"string\":\"say \\\"hi\\\", you\"},\"a,b\":{\"count\":1}},{\"z\":{\"ratio\":0.0000123456789}}"));
  EXPECT_EQ(report.csv(), "Name,\"a,b\",z\n\"say \"\"hi\"\", you\",1,\n,,1.23457e-05\n");
}

// ---- JSON

TEST(Report, KeepsCountsOf64Bits) {
  const Report report(
      calls("{\"a\":{\"count\":9007199254740993},\"b\":{\"count\":-9223372036854775808},\"c\":{\"count\":"
            "9223372036854775807}}"));
  EXPECT_EQ(report.call(0, "a").view().u.int64, (int64_t{1} << 53) + 1);
  EXPECT_EQ(report.call(0, "b").view().u.int64, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(report.call(0, "c").view().u.int64, std::numeric_limits<int64_t>::max());
  EXPECT_NE(report.json().find("\"a\":{\"count\":9007199254740993},\"b\":{\"count\":-9223372036854775808}"),
            std::string::npos);
  EXPECT_NE(failure(calls("{\"a\":{\"count\":9223372036854775808}}")).second.find("offset 16"), std::string::npos);
  EXPECT_EQ(failure(calls("{\"a\":{\"count\":1.5}}")).first, OPD_BAD_FORMAT);
}

TEST(Report, KeepsNumbersOfAnySize) {
  for (const double number : {0.0, -0.0, 1e-300, 5e-324, 3e-7, 1.7976931348623157e308, 1e45, 123456789.125, -2.5}) {
    char text[64];
    snprintf(text, sizeof text, "%.17g", number);
    const Report report(calls("{\"x\":{\"ratio\":" + std::string(text) + "}}"));
    EXPECT_EQ(report.call(0, "x").view().u.float64, number);
    EXPECT_EQ(Report(report.json()).call(0, "x").view().u.float64, number) << report.json();
  }
}

TEST(Report, KeepsWhatIsNotANumber) {
  const Report report(calls(
      "{\"x\":{\"percent\":null},\"y\":{\"microseconds\":1e999},\"z\":{\"ratio\":-1e999},\"t\":{\"ratio\":1e-999},"
      "\"u\":{\"ratio\":0." +
      std::string(400, '0') + "1e5},\"v\":{\"ratio\":1" + std::string(400, '0') + "}}"));
  const Report again(report.json());
  for (const Report *r : {&report, &again}) {
    EXPECT_TRUE(std::isnan(r->call(0, "x").view().u.float64));
    EXPECT_EQ(r->call(0, "y").view().u.float64, std::numeric_limits<double>::infinity());
    EXPECT_EQ(r->call(0, "z").view().u.float64, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(r->call(0, "t").view().u.float64, 0);
    EXPECT_EQ(r->call(0, "u").view().u.float64, 0);
    EXPECT_EQ(r->call(0, "v").view().u.float64, std::numeric_limits<double>::infinity());
  }
  EXPECT_NE(report.table().find("nan"), std::string::npos);
}

TEST(Report, KeepsWhatNewerWritersAdd) {
  const std::string json =
      "{\"calls\":[{\"Name\":{\"string\":\"a\"},\"Memory\":{\"bytes\":18446744073709551615}}],\"device_metrics\":{},"
      "\"configuration\":{\"Host\":{\"labels\":[\"x\",{\"y\":null}]}},\"schema\":{\"version\":12345678901234567890,"
      "\"tags\":[true,false,[],{}]},"
      "\"note\":\"\\u0000 kept\"}";
  const Report report(json);
  EXPECT_EQ(report.json(), json);
  EXPECT_EQ(report.call_text(0, "Memory"), "{\"bytes\":18446744073709551615}");
  EXPECT_NE(report.csv().find("\"{\"\"bytes\"\":18446744073709551615}\""), std::string::npos);
}

TEST(Report, ReadsSectionsInAnyOrderAndAnyLayout) {
  const Report report(
      "\xEF\xBB\xBF { \"configuration\" : { } ,\n\t\"device_metrics\":{\"cpu0\":{}},\r\n \"calls\" : [ { } ] } \n");
  EXPECT_EQ(report.json(), "{\"calls\":[{}],\"device_metrics\":{\"cpu0\":{}},\"configuration\":{}}");
}

TEST(Report, DecodesEscapes) {
  const Report report(
      calls("{\"\\u004eame\":{\"string\":\"\\\"\\\\\\/"
            "\\b\\f\\n\\r\\t\\u00e4\\u20AC\\ud83d\\ude00\"},\"lone\":{\"string\":\"\\ud83d!\"},"
            "\"edge\":{\"string\":\"\\uffff\\ud800\\udc00\"}}"));
  EXPECT_EQ(report.call_text(0, "edge"), "\xEF\xBF\xBF\xF0\x90\x80\x80");
  EXPECT_EQ(report.call_text(0, "Name"), "\"\\/\b\f\n\r\t\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(report.call_text(0, "lone"), "\xEF\xBF\xBD!");
}

TEST(Report, GivesTheOffsetOfMalformedJson) {
  const struct {
    std::string json;
    size_t offset;
  } cases[] = {
      {"", 0},
      {"[]x", 2},
      {"{\"calls\":[}", 10},
      {"{\"calls\":[{]}", 11},
      {"{\"calls\" []}", 9},
      {"{\"calls\":[],}", 12},
      {"{\"calls\":[{\"a\":{\"count\":01}}]}", 24},
      {"{\"calls\":[{\"a\":{\"count\":1.}}]}", 24},
      {"{\"calls\":[{\"a\":{\"count\":-}}]}", 24},
      {"{\"calls\":[{\"a\":{\"ratio\":1e}}]}", 24},
      {"{\"calls\":[{\"a\":{\"count\":nan}}]}", 24},
      {"{\"calls\":[{\"a\":{\"string\":\"x}}]}", 25},
      {"{\"calls\":[{\"a\":{\"string\":\"x\ny\"}}]}", 27},
      {"{\"calls\":[{\"a\":{\"string\":\"\\q\"}}]}", 26},
      {"{\"calls\":[{\"a\":{\"string\":\"\\u12g4\"}}]}", 26},
      {std::string("{\"calls\":[]}\0", 13), 12},
      // well-formed, but not a report
      {"[]", 2},
      {"{\"traceEvents\":[]}", 1},
      {"{\"calls\":{}}", 1},
      {"{\"calls\":[],\"calls\":[]}", 12},
      {"{\"calls\":[{\"a\":{\"count\":1},\"a\":{\"count\":2}}]}", 27},
      {"{\"calls\":[{\"a\":5}]}", 11},
      {"{\"calls\":[{\"a\":{}}]}", 11},
      {"{\"calls\":[{\"a\":{\"count\":1,\"ratio\":2}}]}", 11},
      {"{\"calls\":[{\"a\":{\"count\":\"1\"}}]}", 16},
      {"{\"calls\":[{\"a\":{\"count\":null}}]}", 16},
      {"{\"calls\":[{\"a\":{\"string\":1}}]}", 16},
      {"{\"calls\":[7]}", 10},
      {"{\"calls\":[],\"device_metrics\":{\"cpu0\":[]}}", 30},
      {"{\"calls\":[],\"device_metrics\":{\"cpu0\":{},\"cpu0\":{}}}", 40},
      {"{\"calls\":[],\"configuration\":{\"a\":{\"count\":1},\"a\":{\"count\":1}}}", 45},
  };
  for (const auto &test : cases) {
    const auto [code, message] = failure(test.json);
    EXPECT_EQ(code, OPD_BAD_FORMAT) << test.json;
    EXPECT_NE((message + " ").find("offset " + std::to_string(test.offset) + " "), std::string::npos)
        << test.json << "\n"
        << message;
  }
}

TEST(Report, RefusesDeepNesting) {
  const std::string deep = "{\"calls\":[],\"x\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_NE(failure(deep).second.find("deeper"), std::string::npos);
  const std::string fine = "{\"calls\":[],\"device_metrics\":{},\"configuration\":{},\"x\":" + std::string(99, '[') +
                           std::string(99, ']') + "}";
  EXPECT_EQ(Report(fine).json(), fine);
}

TEST(Report, RefusesEveryTruncationOfItsJson) {
  const std::string json = report_file("sample.json");
  for (size_t size = 0; size < json.size(); ++size)
    EXPECT_EQ(failure(json.substr(0, size)).first, OPD_BAD_FORMAT) << size;
}

TEST(Report, BringsAnyNameThroughARoundTrip) {
  std::mt19937 random(20240607);
  const auto quoted = [](const std::string &bytes) {  // the bytes as they are where JSON allows that
    std::string out = "\"";
    for (const char c : bytes) {
      char escape[8];
      snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(c));
      if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') out += escape;
      else out += c;
    }
    return out + "\"";
  };
  for (int i = 0; i < 300; ++i) {
    std::string bytes(random() % 40, '\0');  // every ASCII character, NUL included
    for (char &c : bytes) c = static_cast<char>(random() & 0x7F);
    if (i % 3 == 0) bytes += "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
    const Report report(
        calls("{\"Name\":{\"string\":" + quoted(bytes) + "}," + quoted("k" + bytes) + ":{\"count\":1}}"));
    EXPECT_EQ(report.call_text(0, "Name"), bytes);
    const Report again(report.json());
    EXPECT_EQ(again.call_text(0, "Name"), bytes) << i;
    EXPECT_EQ(again.json(), report.json());
    EXPECT_FALSE(report.table().empty());
    EXPECT_FALSE(report.csv().empty());
  }
}

TEST(Report, RefusesWhatIsNotUtf8AndNumbersThatRunIntoEachOther) {
  opd_report *report = nullptr;
  for (const auto &[json, part] :
       {std::pair<std::string, const char *>{"{\"calls\":[],\"\xB3\":1}", "offset 13 is not UTF-8"},
        {"{\"calls\":[],\"x\":1-80.07}", "offset 17 follows a number without a comma"}})
    opdyno_test::expect_error(opd_report_from_json(json.data(), json.size(), &report), OPD_BAD_FORMAT, part);
}

TEST(Report, CanBeReadFromManyThreads) {
  const std::string json = report_file("sample.json"), table = report_file("table.txt");
  const Report shared(json);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(shared.json(), json);
        EXPECT_EQ(Report(json).table(), table);
        EXPECT_EQ(shared.call_text(0, "Name"), "vm.builtin.check_tensor_info");
      }
    });
  for (auto &thread : threads) thread.join();
}

// ---- locales

struct Grouped : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Report, IsTheSameUnderEveryLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouped));
  const char *c_before = setlocale(LC_ALL, nullptr);
  const std::string saved = c_before ? c_before : "C";
  for (const char *name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C"})  // those that the machine has
    if (setlocale(LC_ALL, name)) break;
  const Report report(report_file("sample.json"));
  EXPECT_EQ(report.table(), report_file("table.txt"));
  EXPECT_EQ(report.csv(), report_file("sample.csv"));
  EXPECT_EQ(report.json(), report_file("sample.json"));
  setlocale(LC_ALL, saved.c_str());
  std::locale::global(before);
}

}  // namespace

TEST(Report, ListsItsColumnsDevicesAndConfiguration) {
  const std::string json = R"({"calls":[{"Name":{"string":"a"},"Count":{"count":1}},{"Hash":{"string":"h"}}],)"
                           R"("device_metrics":{"cpu0":{},"cuda1":{}},"configuration":{"Executor":{"string":"VM"}}})";
  opdyno::Report report;
  opdyno::check(opd_report_from_json(json.data(), json.size(), report.out()));
  const auto listed = [&](opd_report_section section) {
    opdyno::Handle<opd_array> names;
    opdyno::check(opd_report_list(report.get(), section, names.out()));
    return opdyno::Value::retain(opdyno::arg(names)).to_string();
  };
  EXPECT_EQ(listed(OPD_REPORT_CALLS), R"(["Name", "Count", "Hash"])");
  EXPECT_EQ(listed(OPD_REPORT_DEVICES), R"(["Device"])");
  EXPECT_EQ(report.count(OPD_REPORT_DEVICES), 2u);
  EXPECT_EQ(listed(OPD_REPORT_CONFIGURATION), R"(["Executor"])");
  EXPECT_EQ(report.count(OPD_REPORT_CONFIGURATION), 1u);
  EXPECT_EQ(report.count(static_cast<opd_report_section>(3)), 0u);
  opd_array *none = nullptr;
  expect_error(opd_report_list(report.get(), static_cast<opd_report_section>(3), &none), OPD_INVALID_ARGUMENT,
               "section is 3");
}

TEST(Report, GivesAColumnAtOnce) {
  const std::string json = R"({"calls":[{"Name":{"string":"a"},"Count":{"count":1}},{"Name":{"string":"b"}}],)"
                           R"("device_metrics":{"cpu0":{"Count":{"count":3}},"cuda1":{}}})";
  opdyno::Report report;
  opdyno::check(opd_report_from_json(json.data(), json.size(), report.out()));
  const auto column = [&](opd_report_section section, const char *name) {
    opdyno::Handle<opd_array> values, kinds;
    opdyno::check(opd_report_get_column(report.get(), section, name, values.out(), kinds.out()));
    return opdyno::Value::retain(opdyno::arg(values)).to_string() +
           opdyno::Value::retain(opdyno::arg(kinds)).to_string();
  };
  EXPECT_EQ(column(OPD_REPORT_CALLS, "Name"), R"(["a", "b"][5, 5])");
  EXPECT_EQ(column(OPD_REPORT_CALLS, "Count"), "[1, None][1, 0]");
  EXPECT_EQ(column(OPD_REPORT_DEVICES, "Count"), "[3, None][1, 0]");
  EXPECT_EQ(column(OPD_REPORT_DEVICES, "Device"), R"(["cpu0", "cuda1"][5, 5])");
  opdyno::Handle<opd_array> values;
  opdyno::check(opd_report_get_column(report.get(), OPD_REPORT_CALLS, "Name", values.out(), nullptr));
  opd_array *none = nullptr;
  expect_error(opd_report_get_column(report.get(), OPD_REPORT_CALLS, "x", &none, nullptr), OPD_NOT_FOUND,
               "Name, Count");
  expect_error(opd_report_get_column(opdyno::ReportBuilder().finish().get(), OPD_REPORT_CALLS, "x", &none, nullptr),
               OPD_NOT_FOUND, "without calls");
}

TEST(Report, RefusesAFormThatThereIsNot) {
  const opdyno::Report report = opdyno::ReportBuilder().finish();
  opd_buffer *text = nullptr;
  expect_error(opd_report_write(report.get(), static_cast<opd_report_format>(5), nullptr, &text), OPD_INVALID_ARGUMENT,
               "format is 5");
}
