// The device that OPDYNO_DEVICE names, for the tests that each kind of devices has to pass.
#pragma once
#include "conformance/kernels.h"
#include "support/opdyno_test.h"

namespace opdyno_test {

inline std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 1000) / 4;
  return values;
}

class ADevice : public testing::Test {
 protected:
  void SetUp() override {
    const Value reason = opdyno::device_attr(device(), OPD_ATTR_ABSENCE);
    if (reason.type() != OPD_NONE) GTEST_SKIP() << reason.string();
  }
  static DLDevice device() { return tested_device(); }
  static bool has_streams() { return device().device_type != kDLCPU; }
};

}  // namespace opdyno_test
