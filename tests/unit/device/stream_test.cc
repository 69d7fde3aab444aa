// The stream that compiled code asks for.
#include <gtest/gtest.h>

#include <thread>

#include "device/device.h"

namespace opd {
namespace {

TEST(TheCurrentStream, IsEachThreadsOwn) {
  static constexpr DLDevice kDevice = {kDLVPI, 0};
  int place;
  EXPECT_EQ(set_current_stream(kDevice, &place), nullptr);
  EXPECT_EQ(current_stream(kDevice), &place);
  std::thread([] { EXPECT_EQ(current_stream(kDevice), nullptr); }).join();
  EXPECT_EQ(set_current_stream(kDevice, nullptr), &place);
  EXPECT_EQ(current_stream(kDevice), nullptr);
}

}  // namespace
}  // namespace opd
