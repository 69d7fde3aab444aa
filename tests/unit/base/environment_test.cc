// Settings in environment variables.
#include "base/environment.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

namespace opd {
namespace {

TEST(SizesInTheEnvironment, AreMebibytesOrNone) {
  const char *const name = "OPDYNO_TEST_SIZE_MB";
  const auto bytes = [&](const char *text) {
    ::setenv(name, text, 1);
    return bytes_from_environment(name, 7);
  };
  EXPECT_EQ(bytes("3"), size_t{3} << 20);
  EXPECT_EQ(bytes("0"), 0u);
  for (const char *none : {"", "x", "3x", "3 ", " 3", "-3", "99999999999999999999999"})
    EXPECT_EQ(bytes(none), 0u) << "what is no number is not the usual size: \"" << none << "\"";
  EXPECT_EQ(bytes("17592186044415"), SIZE_MAX >> 20 << 20) << "2^44 - 1, the most that can be said in bytes";
  EXPECT_EQ(bytes("17592186044416"), SIZE_MAX >> 20 << 20);
  ::unsetenv(name);
  EXPECT_EQ(bytes_from_environment(name, 7), size_t{7} << 20);
}

}  // namespace
}  // namespace opd
