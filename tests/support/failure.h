// What a call of the C API came to, for tests that use no C++ wrapper.
#pragma once
#include <gtest/gtest.h>
#include <opdyno/base.h>

#include <string>

namespace opdyno_test {

struct Failure {
  opd_code code;
  std::string kind, message;
};
inline Failure failure(opd_error *error) {
  Failure told{opd_error_code(error), opd_error_kind(error), error ? opd_error_message(error) : ""};
  opd_error_release(error);
  return told;
}
#define EXPECT_OK(call) EXPECT_EQ(failure(call).message, "")

}  // namespace opdyno_test
