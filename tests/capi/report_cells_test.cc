// Cells of reports with gaps and kinds that change, compared with a plain table of them.
#include <map>
#include <random>

#include "support/report_test.h"

namespace {

using opdyno::arg;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno::Value;
using opdyno_test::expect_error;

struct Cell {
  opd_metric_kind kind = OPD_METRIC_NONE;
  int64_t number = 0;

  std::string text() const {  // as Value::to_string() has it
    switch (kind) {
      case OPD_METRIC_NONE:
        return "None";
      case OPD_METRIC_STRING:
        return "\"text" + std::to_string(number) + "\"";
      case OPD_METRIC_COUNT:
        return std::to_string(number);
      default:
        return std::to_string(number) + ".5";
    }
  }
  std::string csv() const { return kind == OPD_METRIC_NONE ? "" : text(); }
  std::string json() const {
    const std::map<opd_metric_kind, std::string> names = {{OPD_METRIC_STRING, "string"},
                                                          {OPD_METRIC_COUNT, "count"},
                                                          {OPD_METRIC_RATIO, "ratio"},
                                                          {OPD_METRIC_PERCENT, "percent"}};
    const bool is_real = kind == OPD_METRIC_RATIO || kind == OPD_METRIC_PERCENT;
    return "{\"" + names.at(kind) + "\":" + text() + (is_real ? std::string(16, '0') : "") + "}";
  }
};

std::string joined(const std::vector<std::string> &texts, const char *between) {
  std::string out;
  for (const std::string &text : texts) out += (out.empty() ? "" : between) + text;
  return out;
}

// A table of up to four columns. Some have a cell in each row, some gaps; of some the kind changes.
struct Table {
  std::vector<std::vector<Cell>> columns;
  size_t rows = 0;

  explicit Table(std::mt19937 &random) {
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    rows = 1 + below(12);
    columns.resize(1 + below(4));
    for (auto &column : columns) {
      const opd_metric_kind kinds[] = {OPD_METRIC_STRING, OPD_METRIC_COUNT, OPD_METRIC_RATIO, OPD_METRIC_PERCENT};
      const size_t changes = below(3), gaps = below(3);
      size_t kind = below(4);
      for (size_t row = 0; row < rows; ++row) {
        if (changes && below(4) < changes) kind = below(4);
        const bool is_gap = gaps && below(4) < gaps;
        column.push_back(is_gap ? Cell() : Cell{kinds[kind], static_cast<int64_t>(below(5))});
      }
    }
  }
  static std::string name(size_t column) { return std::string(1, static_cast<char>('a' + column)); }
  bool has(size_t column) const {
    return std::any_of(columns[column].begin(), columns[column].end(), [](const Cell &c) { return c.kind != 0; });
  }

  // Columns are made when they get their first cell.
  std::vector<size_t> order() const {
    std::vector<size_t> out;
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns.size(); ++column)
        if (columns[column][row].kind && std::find(out.begin(), out.end(), column) == out.end()) out.push_back(column);
    return out;
  }

  Report report() const {
    const ReportBuilder builder;
    for (size_t row = 0; row < rows; ++row) {
      builder.add_call();
      for (size_t column = 0; column < columns.size(); ++column) {
        const Cell &cell = columns[column][row];
        const std::string text = "text" + std::to_string(cell.number);
        if (cell.kind == OPD_METRIC_STRING) builder.set_call(name(column).c_str(), cell.kind, arg(text));
        else if (cell.kind == OPD_METRIC_COUNT) builder.set_call(name(column).c_str(), cell.kind, arg(cell.number));
        else if (cell.kind)
          builder.set_call(name(column).c_str(), cell.kind, arg(static_cast<double>(cell.number) + 0.5));
      }
    }
    return builder.finish();
  }
};

TEST(ReportCells, HaveTheValuesThatWereSet) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const Table table(random);
    const Report made = table.report();
    for (const Report &report : {made, Report::from_json(made.json())}) {
      std::vector<std::string> names, json_rows, csv_rows;
      for (size_t column = 0; column < table.columns.size(); ++column) {
        if (!table.has(column)) continue;
        names.push_back(Table::name(column));
        std::vector<std::string> texts, kinds;
        for (size_t row = 0; row < table.rows; ++row) {
          const Cell &cell = table.columns[column][row];
          texts.push_back(cell.text()), kinds.push_back(std::to_string(static_cast<int>(cell.kind)));
          EXPECT_EQ(opdyno_test::call_value(report, row, names.back().c_str()).to_string(), cell.text());
          EXPECT_EQ(report.kind(OPD_REPORT_CALLS, row, names.back().c_str()), cell.kind);
        }
        opdyno::Handle<opd_array> values, value_kinds;
        opdyno::check(opd_report_get_column(report.get(), OPD_REPORT_CALLS, names.back().c_str(), values.out(),
                                            value_kinds.out()));
        EXPECT_EQ(Value::retain(arg(values)).to_string(), "[" + joined(texts, ", ") + "]");
        EXPECT_EQ(Value::retain(arg(value_kinds)).to_string(), "[" + joined(kinds, ", ") + "]");
      }
      std::string csv = joined(names, ",") + "\n";
      for (size_t row = 0; row < table.rows; ++row) {
        std::vector<std::string> json;
        std::string line;
        for (size_t column = 0; column < table.columns.size(); ++column)
          if (table.has(column)) line += "," + table.columns[column][row].csv();
        for (const size_t column : table.order())
          if (const Cell &cell = table.columns[column][row]; cell.kind)
            json.push_back("\"" + Table::name(column) + "\":" + cell.json());
        json_rows.push_back("{" + joined(json, ",") + "}");
        csv += line.substr(std::min<size_t>(1, line.size())) + "\n";
      }
      EXPECT_EQ(report.csv(), csv);
      EXPECT_EQ(report.json(),
                "{\"calls\":[" + joined(json_rows, ",") + "],\"device_metrics\":{},\"configuration\":{}}");
    }
  }
}

TEST(ReportCells, UnknownNamesGiveAnErrorWithTheFirstTwentyNames) {
  const auto unknown = [](int count) {
    const ReportBuilder builder;
    builder.add_call();
    for (int i = 0; i < count; ++i)
      builder.set_configuration(("c" + std::to_string(i)).c_str(), OPD_METRIC_COUNT, arg(i));
    for (int i = 0; i < count; ++i) builder.set_call(("n" + std::to_string(i)).c_str(), OPD_METRIC_COUNT, arg(i));
    return builder.finish();
  };
  const auto list = [](char letter, int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(letter + std::to_string(i));
    return joined(names, ", ");
  };
  const auto error = [](const Report &report, opd_report_section section) {
    opd_value value;
    opd_error *failure = opd_report_get(report.get(), section, 0, "x", &value, nullptr);
    const std::string message = failure ? opd_error_message(failure) : "";
    opd_error_release(failure);
    return message;
  };
  for (const auto &[count, end] : {std::pair<int, const char *>{20, ""}, {21, " …"}, {2, ""}}) {
    const Report report = unknown(count);
    EXPECT_EQ(error(report, OPD_REPORT_CALLS),
              "the report has no column \"x\"; it has " + list('n', std::min(count, 20)) + end);
    EXPECT_EQ(error(report, OPD_REPORT_CONFIGURATION),
              "the report has no configuration entry \"x\"; it has " + list('c', std::min(count, 20)) + end);
  }
  EXPECT_EQ(error(unknown(0), OPD_REPORT_CALLS), "the report has no column \"x\"; it has none");
  EXPECT_EQ(error(unknown(0), OPD_REPORT_CONFIGURATION), "the report has no configuration entry \"x\"; it has none");
  opd_value value;
  expect_error(opd_report_get(unknown(1).get(), OPD_REPORT_CALLS, 1, "n0", &value, nullptr), OPD_OUT_OF_RANGE,
               "row must be below 1, but is 1");
}

TEST(ReportCells, QuoteNamesInCsvThatHaveItsSigns) {
  const std::pair<const char *, const char *> names[] = {
      {"a,b", "\"a,b\""}, {"a\"b", "\"a\"\"b\""}, {"a\nb", "\"a\nb\""}, {"a\rb", "\"a\rb\""}, {"a b;", "a b;"}};
  for (const auto &[name, written] : names) {
    const ReportBuilder builder;
    builder.add_call();
    builder.set_call(name, OPD_METRIC_RATIO, arg(INFINITY));
    builder.add_call();
    builder.set_call(name, OPD_METRIC_RATIO, arg(-1234567.0));
    EXPECT_EQ(builder.finish().csv(), std::string(written) + "\ninf\n-1.23457e+06\n");
  }
}

}  // namespace
