// Reports among the tests' data.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace opdyno_test {

inline std::string report_file(const std::string &name) {
  std::ifstream in(std::string(OPDYNO_TEST_DATA) + "/report/" + name, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  EXPECT_FALSE(content.str().empty()) << name;
  return content.str();
}

}  // namespace opdyno_test
