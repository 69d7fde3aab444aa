// What the tests on the recording CUDA driver share.
#pragma once
#include "conformance/faults.h"
#include "support/cuda/recording.h"

namespace opdyno_test {

inline constexpr DLDevice kDevice = {kDLCUDA, 0};

/** Each test begins with an empty log of the driver, and leaves the thread as it was. */
class OnRecordedCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_driver::is_real_cuda()) GTEST_SKIP() << "it compares the recording driver's log";
    ASSERT_TRUE(cuda_driver::Recording::is_here()) << "LD_LIBRARY_PATH does not name the recording driver";
    Tensor({1}, "float32", kDevice);  // makes what a device needs once
    opdyno::sync(kDevice);
    cuda_driver::Recording::log();
  }
  void TearDown() override {
    if (cuda_driver::is_real_cuda()) return;
    cuda_driver::Recording::fail_from(0);
    EXPECT_EQ(opdyno::set_stream(kDevice, nullptr), nullptr) << "the thread's stream is its own again";
    EXPECT_EQ(cuda_driver::Recording::depth(), 0) << "the thread's own context is current again";
  }
};

}  // namespace opdyno_test
