// What the tests of reports share.
#pragma once
#include <fstream>
#include <sstream>

#include "support/opdyno_test.h"
#include "support/paths.h"

namespace opdyno_test {

inline std::string report_file(const std::string &name) {
  std::ifstream in(test_data("/report/") + name, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  EXPECT_FALSE(content.str().empty()) << name;
  return content.str();
}

inline std::string text_value(const Value &value) {
  const opd_value view = value.view();
  const char *data = nullptr;
  size_t size = 0;
  check(opd_string_get(&view, &data, &size));
  return {data, size};
}

/** The row of a device among the devices; past the end if there is none of that name. */
inline size_t device_row(const Report &report, const std::string &device) {
  size_t row = 0;
  for (; row < report.count(OPD_REPORT_DEVICES); ++row)
    if (text_value(report.value(OPD_REPORT_DEVICES, row, "Device")) == device) break;
  return row;
}

inline Value call_value(const Report &report, size_t row, const char *column) {
  return report.value(OPD_REPORT_CALLS, row, column);
}
inline Value device_value(const Report &report, const char *device, const char *metric) {
  return report.value(OPD_REPORT_DEVICES, device_row(report, device), metric);
}
inline Value configuration_value(const Report &report, const char *key) {
  return report.value(OPD_REPORT_CONFIGURATION, 0, key);
}

inline double number_of(const Value &value) {
  return value.type() == OPD_INT ? static_cast<double>(value.view().u.int64) : value.view().u.float64;
}

inline double call_number(const Report &report, size_t row, const char *column) {
  return number_of(call_value(report, row, column));
}
inline std::string call_text(const Report &report, size_t row, const char *column) {
  return text_value(call_value(report, row, column));
}

inline std::string summary(const Report &report, int32_t width = 100, int32_t max_rows = 0, int32_t colored = 0) {
  opd_report_write_options options;
  opd_report_write_options_init(&options);
  options.width = width, options.max_rows = max_rows, options.colored = colored;
  return report.table(&options);
}

}  // namespace opdyno_test
