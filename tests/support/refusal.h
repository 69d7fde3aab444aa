// What code is refused with.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace opd {

// The message of the error that `body` throws, which is expected to have the code; "accepted" if it throws none.
template <class F>
std::string refusal(opd_code code, F &&body) {
  try {
    body();
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, code) << e.what();
    return e.what();
  }
  return "accepted";
}

}  // namespace opd
