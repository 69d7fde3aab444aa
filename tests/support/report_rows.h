// Reports made of JSON text, row by row.
#pragma once
#include <string>

#include "support/report_test.h"

namespace report_rows {

using opdyno::check;
using opdyno::Value;

struct JsonReport : opdyno::Report {
  JsonReport() = default;
  explicit JsonReport(const std::string &json) { check(opd_report_from_json(json.data(), json.size(), out())); }
  using opdyno::Report::table;
  std::string table(int sort, int aggregate, int col_sums) const {
    opd_report_write_options options;
    opd_report_write_options_init(&options);
    options.sort = sort, options.aggregate = aggregate, options.col_sums = col_sums;
    return table(&options);
  }
  Value call(size_t row, const char *column) const { return opdyno_test::call_value(*this, row, column); }
  std::string call_text(size_t row, const char *column) const { return opdyno_test::text_value(call(row, column)); }
};

inline std::string calls(const std::string &rows) { return "{\"calls\":[" + rows + "]}"; }
inline std::string call_row(const std::string &name, double us, const std::string &more = "") {
  return "{\"Name\":{\"string\":\"" + name + "\"},\"Duration (us)\":{\"microseconds\":" + std::to_string(us) + "}" +
         more + "}";
}

}  // namespace report_rows
