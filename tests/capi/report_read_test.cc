// Tables read back, cell by cell: which kinds their texts are taken for, and where columns begin and end.
#include <cmath>
#include <limits>

#include "support/report_test.h"

namespace {

using opdyno::arg;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno_test::call_value;
using opdyno_test::expect_error;
using opdyno_test::number_of;

const std::string kFixed = "Name  Duration (us)  Percent  Device  Count  Argument Shapes";

std::string padded(const std::string &text, size_t width, size_t characters) {
  return std::string(width - characters, ' ') + text;
}
// A table of one further column, 20 wide, with these cells.
std::string table_of(const std::string &name, const std::vector<std::pair<std::string, size_t>> &cells) {
  std::string out = kFixed + "  " + padded(name, 20, name.size()) + "\n";
  for (const auto &[text, characters] : cells)
    out += "a" + std::string(kFixed.size() + 1, ' ') + padded(text, 20, characters) + "\n";
  return out;
}
std::string table_of(const std::string &name, const std::vector<std::string> &cells) {
  std::vector<std::pair<std::string, size_t>> counted;
  for (const std::string &cell : cells) counted.emplace_back(cell, cell.size());
  return table_of(name, counted);
}

std::string message_of(const std::string &text) {
  opd_report *report = nullptr;
  opd_error *error = opd_report_from_table(text.data(), text.size(), &report);
  const std::string message = error ? opd_error_message(error) : "";
  opd_error_release(error);
  opd_report_release(report);
  return message;
}

TEST(ReportRead, TakesATextForTheKindThatItLooksLike) {
  const struct {
    const char *text;
    opd_metric_kind kind;
    double number;
  } cases[] = {{"12", OPD_METRIC_COUNT, 12},
               {"-5", OPD_METRIC_COUNT, -5},
               {"0", OPD_METRIC_COUNT, 0},
               {"1,234", OPD_METRIC_COUNT, 1234},
               {"1.234", OPD_METRIC_COUNT, 1234},
               {"-1,234", OPD_METRIC_COUNT, -1234},
               {"1'234", OPD_METRIC_COUNT, 1234},
               {"1 234 567", OPD_METRIC_COUNT, 1234567},
               {"12,34,567", OPD_METRIC_COUNT, 1234567},
               {"9223372036854775807", OPD_METRIC_COUNT, 9223372036854775807.0},
               {"9223372036854775808", OPD_METRIC_RATIO, 9223372036854775808.0},
               {"12.5", OPD_METRIC_RATIO, 12.5},
               {"12,5", OPD_METRIC_RATIO, 12.5},
               {"1,234.5", OPD_METRIC_RATIO, 1234.5},
               {"1.234,5", OPD_METRIC_RATIO, 1234.5},
               {"1234.56", OPD_METRIC_RATIO, 1234.56},
               {"1e+06", OPD_METRIC_RATIO, 1e6},
               {"1.5e-07", OPD_METRIC_RATIO, 1.5e-7},
               {"-2.5", OPD_METRIC_RATIO, -2.5},
               {"inf", OPD_METRIC_RATIO, INFINITY},
               {"-inf", OPD_METRIC_RATIO, -INFINITY}};
  for (const auto &[text, kind, number] : cases) {
    const Report report = Report::from_table(table_of("x", std::vector<std::string>{text}));
    EXPECT_EQ(report.kind(OPD_REPORT_CALLS, 0, "x"), kind) << text;
    EXPECT_EQ(number_of(call_value(report, 0, "x")), number) << text;
  }
  const Report not_a_number = Report::from_table(table_of("x", std::vector<std::string>{"nan"}));
  EXPECT_TRUE(std::isnan(number_of(call_value(not_a_number, 0, "x"))));
  for (const char *text : {"abc", "1x", "1e", "--1", "1.", ".5", "1..5", "12-3", "infinity", "NaN", "+1", "1e+06x"}) {
    const Report report = Report::from_table(table_of("x", std::vector<std::string>{text}));
    EXPECT_EQ(report.kind(OPD_REPORT_CALLS, 0, "x"), OPD_METRIC_STRING) << text;
    EXPECT_EQ(call_value(report, 0, "x").to_string(), "\"" + std::string(text) + "\"");
  }
}

TEST(ReportRead, TakesSeparatorsOfEachLocale) {
  for (const char *separator : {".", ",", "'", " ", "\u00A0", "\u202F", "\u2019"}) {
    const Report report = Report::from_table(table_of(
        "x", std::vector<std::pair<std::string, size_t>>{{"1" + std::string(separator) + "234", 5}, {"7", 1}}));
    EXPECT_EQ(report.kind(OPD_REPORT_CALLS, 0, "x"), OPD_METRIC_COUNT) << separator;
    EXPECT_EQ(number_of(call_value(report, 0, "x")), 1234) << separator;
    EXPECT_EQ(number_of(call_value(report, 1, "x")), 7) << separator;
  }
}

TEST(ReportRead, TakesAColumnForTheKindThatHoldsAllItsCells) {
  const struct {
    std::vector<std::string> cells;
    opd_metric_kind kind;
  } cases[] = {{{"1", "2"}, OPD_METRIC_COUNT},         {{"1", "2.5"}, OPD_METRIC_RATIO},
               {{"2.5", "1"}, OPD_METRIC_RATIO},       {{"1", "x"}, OPD_METRIC_STRING},
               {{"x", "1"}, OPD_METRIC_STRING},        {{"x", "2.5"}, OPD_METRIC_STRING},
               {{"2.5", "1", "x"}, OPD_METRIC_STRING}, {{"", "1"}, OPD_METRIC_COUNT}};
  for (const auto &[cells, kind] : cases) {
    const Report report = Report::from_table(table_of("x", cells));
    for (size_t row = 0; row < cells.size(); ++row)
      EXPECT_EQ(report.kind(OPD_REPORT_CALLS, row, "x"), cells[row].empty() ? OPD_METRIC_NONE : kind)
          << cells[0] << " " << cells[1] << ": " << row;
  }
}

TEST(ReportRead, TakesANumberForWhatItsUnitSays) {
  const std::pair<const char *, opd_metric_kind> units[] = {
      {"x (us)", OPD_METRIC_DURATION}, {"x (%)", OPD_METRIC_PERCENT},   {"x Percent", OPD_METRIC_PERCENT},
      {"x (Hz)", OPD_METRIC_HERTZ},    {"x (bytes)", OPD_METRIC_BYTES}, {"x", OPD_METRIC_COUNT}};
  for (const auto &[name, kind] : units) {
    const Report number = Report::from_table(table_of(name, std::vector<std::string>{"7"}) + "\n\n\n" + name + ": 7\n");
    EXPECT_EQ(number.kind(OPD_REPORT_CALLS, 0, name), kind) << name;
    EXPECT_EQ(number_of(call_value(number, 0, name)), 7);
    EXPECT_EQ(number.kind(OPD_REPORT_CONFIGURATION, 0, name), kind) << name;
    const Report text = Report::from_table(table_of(name, std::vector<std::string>{"many"}));
    EXPECT_EQ(text.kind(OPD_REPORT_CALLS, 0, name), OPD_METRIC_STRING) << name;
  }
  const Report shortest = Report::from_table(table_of("x (us)", std::vector<std::string>{"<0.01", "3"}));
  EXPECT_EQ(number_of(call_value(shortest, 0, "x (us)")), 0);
  EXPECT_EQ(message_of(table_of("x", std::vector<std::string>{"<0.01"})),
            "report: line 2 of the table has \"<0.01\" as its x, which is a number");
}

TEST(ReportRead, SkipsTheLinesAboveATable) {
  const std::string above = "collector x failed: y\ncollector z failed: \n",
                    table = table_of("x", std::vector<std::string>{"7"});
  for (const char *gap : {"", "\n"})
    EXPECT_EQ(Report::from_table(above + gap + table).table(), Report::from_table(table).table());
  EXPECT_EQ(message_of(above + "\n" + table_of("x", std::vector<std::string>{"1", "<0.01"})),
            "report: line 6 of the table has \"<0.01\" as its x, which is a number");
  EXPECT_EQ(message_of(above), "report: line 3 of the table is missing: a table begins with its columns");
  EXPECT_EQ(message_of("collector x\n" + table).substr(0, 27), "report: line 1 of the table");
}

TEST(ReportRead, TellsRowsThatAProfileComputedByTheirNames) {
  const std::string wide = "Name        Duration (us)  Percent  Device  Count  Argument Shapes\n";
  const Report report = Report::from_table(wide + "(dispatch)\n(profiler)\n(builtins)\n(other)\n");
  ASSERT_EQ(opd_report_call_count(report.get()), 4u);
  EXPECT_EQ(call_value(report, 0, "Row Kind").to_string(), "\"dispatch\"");
  EXPECT_EQ(call_value(report, 1, "Row Kind").to_string(), "\"profiler\"");
  EXPECT_EQ(call_value(report, 2, "Row Kind").to_string(), "\"builtins\"");
  EXPECT_EQ(call_value(report, 3, "Row Kind").type(), OPD_NONE);
}

TEST(ReportRead, TellsSumsAndTotalsFromCalls) {
  const std::string header = "Name        Duration (us)  Percent  Device  Count  Argument Shapes\n";
  const std::string call = "add                  1.00                                         \n";
  const std::string rule = "----------                                                        \n";
  const std::string sum = "Sum                  1.00                                         \n";
  const std::string total = "Total                2.00             cpu0                        \n";
  const auto counts = [](const std::string &text) {
    const Report report = Report::from_table(text);
    return std::pair(opd_report_call_count(report.get()), report.count(OPD_REPORT_DEVICES));
  };
  using Counts = std::pair<size_t, size_t>;
  EXPECT_EQ(counts(header), Counts(0, 0));
  EXPECT_EQ(counts(header + total), Counts(0, 1));
  EXPECT_EQ(counts(header + rule + sum), Counts(0, 0));
  EXPECT_EQ(counts(header + rule + sum + total), Counts(0, 1));
  EXPECT_EQ(counts(header + call + rule + sum + total), Counts(1, 1));
  EXPECT_EQ(counts(header + call + sum), Counts(2, 0)) << "no rule before it";
  EXPECT_EQ(counts(header + sum), Counts(1, 0));
  EXPECT_EQ(counts(header + call + rule), Counts(2, 0));
  EXPECT_EQ(counts(header + total + call), Counts(2, 0)) << "totals are the last rows";
}

TEST(ReportRead, ReadsTheEntriesOfTheConfiguration) {
  const Report report = Report::from_table(
      kFixed + "\n\nConfiguration\n-------------\nPlain: text\nEmpty:\nTwo: one: two\n\n  Padded: 5  \nHalf: 0.5\n");
  const auto entry = [&](const char *key) { return report.value(OPD_REPORT_CONFIGURATION, 0, key).to_string(); };
  EXPECT_EQ(report.columns(OPD_REPORT_CONFIGURATION),
            (std::vector<std::string>{"Plain", "Empty", "Two", "Padded", "Half"}));
  EXPECT_EQ(entry("Plain"), "\"text\"");
  EXPECT_EQ(entry("Empty"), "\"\"");
  EXPECT_EQ(entry("Two"), "\"one: two\"");
  EXPECT_EQ(entry("Padded"), "5");
  EXPECT_EQ(entry("Half"), "0.5");
  EXPECT_EQ(Report::from_table(kFixed + "\n\nA: 1\n").count(OPD_REPORT_CONFIGURATION), 1u) << "without a title";
  EXPECT_EQ(message_of(kFixed + "\n\nA: 1\nConfiguration\n"),
            "report: line 4 of the table is no entry of the configuration, as key: value");
  EXPECT_EQ(message_of(kFixed + "\n\nConfiguration\nA: 1\n-------------\n"),
            "report: line 5 of the table is no entry of the configuration, as key: value");
}

TEST(ReportRead, SplitsNamesFromDurationsAtTheLastGap) {
  const std::string wide = "Name                  Duration (us)  Percent  Device  Count  Argument Shapes\n";
  const Report report = Report::from_table(wide +
                                           "a name  of  words              1.25\n"
                                           "a name  of  words and  of more 12\n"
                                           "                               2.25    50.00\n");
  ASSERT_EQ(opd_report_call_count(report.get()), 3u);
  EXPECT_EQ(call_value(report, 0, "Name").to_string(), "\"a name  of  words\"");
  EXPECT_EQ(number_of(call_value(report, 0, "Duration (us)")), 1.25);
  EXPECT_EQ(call_value(report, 1, "Name").to_string(), "\"a name  of  words and  of more 12\"");
  EXPECT_EQ(call_value(report, 1, "Duration (us)").type(), OPD_NONE);
  EXPECT_EQ(call_value(report, 2, "Name").type(), OPD_NONE);
  EXPECT_EQ(number_of(call_value(report, 2, "Duration (us)")), 2.25);
  EXPECT_EQ(number_of(call_value(report, 2, "Percent")), 50);
}

TEST(ReportRead, SaysInWhichLineATotalIsWrong) {
  const std::string header = "Name        Duration (us)  Percent  Device  Count  Argument Shapes\n";
  EXPECT_EQ(message_of(header + "add                  1.00\n" + "Total                x.yz             cpu0\n"),
            "report: line 3 of the table has \"x.yz\" as its Duration (us), which is a number");
}

TEST(ReportRead, RefusesAColumnThatIsThereTwice) {
  const std::string twice = kFixed + "  x  x\n" + "a" + std::string(kFixed.size() + 1, ' ') + "1  2\n";
  EXPECT_EQ(message_of(twice), "report: line 1 of the table has the column x twice");
  EXPECT_EQ(message_of("Name  Duration (us)  Percent  Device  Count\n"),
            "report: line 1 of the table is not that of a report: its columns begin with Name, Duration (us), Percent, "
            "Device, Count and Argument Shapes");
  EXPECT_EQ(message_of(table_of("x", std::vector<std::string>{"1"}) + "a" + std::string(200, ' ') + "b\n"),
            "report: line 3 of the table is wider than the columns");
  const std::string long_count = "Name  Duration (us)  Percent  Device" + std::string(70, ' ') +
                                 "Count  Argument Shapes\n" + std::string(40, ' ') + std::string(66, 'x') + "\n";
  EXPECT_EQ(message_of(long_count),
            "report: line 2 of the table has \"" + std::string(60, 'x') + "\" as its Count, which is a count");
}

}  // namespace
