// What a buffer keeps of the calls' tensors.
#include "trace/call_event_buffer.h"

#include <gtest/gtest.h>

namespace opd {
namespace {

constexpr uint64_t kMany = 1 << 20;

// A call with vectors of these sizes.
const CallEvent &add(CallEventBuffer &buffer, size_t call, std::vector<int64_t> sizes) {
  std::vector<DLTensor> tensors;
  for (int64_t &size : sizes) tensors.push_back({nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &size, nullptr, 0});
  std::vector<View> args;
  for (DLTensor &tensor : tensors) args.push_back(opd_dltensor(&tensor));
  EXPECT_NE(buffer.describe(args, call), nullptr);
  buffer.commit();
  return buffer.at(buffer.size() - 1);
}

TEST(CallEventBuffer, KeepsDimensionsOnceThatACallHadBefore) {
  CallEventBuffer buffer(kMany);
  const uint64_t first = add(buffer, 7, {2, 3}).shapes;
  EXPECT_EQ(add(buffer, 7, {2, 3}).shapes, first);
  EXPECT_EQ(buffer.num_shape_words(), 4u);  // of each vector its dtype and its size
  EXPECT_NE(add(buffer, 7, {2, 4}).shapes, first);
  EXPECT_EQ(buffer.num_shape_words(), 8u);
  EXPECT_EQ(buffer.shapes_text(buffer.at(1)), "float32[2], float32[3]");
  EXPECT_EQ(buffer.shapes_text(buffer.at(2)), "float32[2], float32[4]");
}

TEST(CallEventBuffer, TellsCallsApartThatShareAPlace) {
  CallEventBuffer buffer(kMany);
  for (const int64_t size : {1, 2, 1, 2}) add(buffer, 5 + 1024 * static_cast<size_t>(size), {size});
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(buffer.shapes_text(buffer.at(i)), i % 2 ? "float32[2]" : "float32[1]");
  CallEventBuffer all(kMany, true);
  add(all, 1, {});
  add(all, 1, {6});
  add(all, 1, {});
  EXPECT_EQ(all.shapes_text(all.at(0)) + all.shapes_text(all.at(2)), "");
  EXPECT_EQ(all.shapes_text(all.at(1)), "float32[6]");
}

TEST(CallEventBuffer, ForgetsDimensionsWithTheRecords) {
  CallEventBuffer buffer(kMany);
  add(buffer, 0, {1});
  add(buffer, 1, {2});
  buffer.restart(1);
  EXPECT_EQ(buffer.shapes_text(add(buffer, 2, {9, 9})), "float32[9], float32[9]");
  EXPECT_EQ(buffer.shapes_text(add(buffer, 1, {2})), "float32[2]");
  EXPECT_EQ(buffer.shapes_text(add(buffer, 0, {1})), "float32[1]");
}

TEST(CallEventBuffer, GrowsWithDimensionsThatNeverRepeat) {
  CallEventBuffer buffer(kMany);
  for (int64_t i = 0; i < 40'000; ++i) add(buffer, 0, {i});
  for (const int64_t i : {0, 16'383, 16'384, 39'999})
    EXPECT_EQ(buffer.shapes_text(buffer.at(static_cast<uint64_t>(i))), "float32[" + std::to_string(i) + "]");
}

}  // namespace
}  // namespace opd
