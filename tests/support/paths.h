// Where files of the tests are. Each name begins with a slash, or is empty for the folder itself.
#pragma once
#include <string>

namespace opdyno_test {

std::string test_data(const std::string &name);     // of tests/data
std::string interop_data(const std::string &name);  // what TVM has compiled
std::string test_scratch(const std::string &name);  // in the build folder, for what tests write

std::string opdyno_program();

}  // namespace opdyno_test
