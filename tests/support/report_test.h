// What the tests of reports share.
#pragma once
#include <fstream>
#include <sstream>

#include "support/opdyno_test.h"

namespace opdyno_test {

inline std::string report_file(const std::string &name) {
  std::ifstream in(std::string(OPDYNO_TEST_DATA) + "/report/" + name, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  EXPECT_FALSE(content.str().empty()) << name;
  return content.str();
}

inline Value call_value(const Report &report, size_t row, const char *column) {
  Value value;
  check(opd_report_get_call(report.get(), row, column, value.out()));
  return value;
}
inline Value device_value(const Report &report, const char *device, const char *metric) {
  Value value;
  check(opd_report_get_device(report.get(), device, metric, value.out()));
  return value;
}
inline Value configuration_value(const Report &report, const char *key) {
  Value value;
  check(opd_report_get_configuration(report.get(), key, value.out()));
  return value;
}

inline double number_of(const Value &value) {
  return value.type() == OPD_INT ? static_cast<double>(value.view().u.int64) : value.view().u.float64;
}

}  // namespace opdyno_test
