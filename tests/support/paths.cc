// The only file that is compiled with paths of the checkout: ccache knows all the others in every checkout.
#include "support/paths.h"

namespace opdyno_test {

std::string test_data(const std::string &name) { return OPDYNO_TEST_DATA + name; }
std::string interop_data(const std::string &name) { return OPDYNO_INTEROP_DATA + name; }
std::string test_scratch(const std::string &name) { return OPDYNO_TEST_SCRATCH + name; }
std::string opdyno_program() { return OPDYNO_PROGRAM; }

}  // namespace opdyno_test
