// Stacks: equal ones are one, and their number is bounded.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "trace/model/names.h"

namespace opd {
namespace {

std::vector<uint64_t> frames_of(StackId id) {
  const std::span<const uint64_t> frames = stack_frames(id);
  return {frames.begin(), frames.end()};
}

TEST(Stacks, HaveOneNumberWhoeverMakesThem) {
  const auto stack = [](uint64_t n) { return std::vector<uint64_t>{n + 1, n + 2, n + 3}; };
  std::vector<std::vector<StackId>> made(4);
  std::vector<std::thread> threads;
  for (auto &ids : made)
    threads.emplace_back([&] {
      for (uint64_t n = 0; n < 3000; ++n) ids.push_back(stack_id(stack(n)));
    });
  for (auto &thread : threads) thread.join();
  for (const auto &ids : made) EXPECT_EQ(ids, made[0]);
  for (uint64_t n = 0; n < 3000; ++n) ASSERT_EQ(frames_of(made[0][n]), stack(n));
  EXPECT_NE(made[0][0], made[0][1]);
  EXPECT_NE(stack_id(std::vector<uint64_t>{1, 2}), made[0][0]) << "a part of it is another one";
}

TEST(Stacks, HaveTheNumberZeroWithoutFrames) {
  EXPECT_EQ(stack_id({}), 0u);
  EXPECT_TRUE(frames_of(0).empty());
  EXPECT_TRUE(frames_of(kMostStacks - 1).empty()) << "not made so far";
  EXPECT_TRUE(frames_of(kMostStacks).empty());
  EXPECT_TRUE(frames_of(UINT32_MAX).empty());
}

TEST(Stacks, HaveFramesOfLanguages) {
  const LanguageFrame given{kMostNames - 1, 12345, (1u << 21) - 2};
  const uint64_t word = pack_frame(given);
  EXPECT_TRUE(is_language_frame(word));
  EXPECT_FALSE(is_language_frame(reinterpret_cast<uint64_t>(&given)));
  const LanguageFrame read = unpack_frame(word);
  EXPECT_EQ(read.function, given.function);
  EXPECT_EQ(read.file, given.file);
  EXPECT_EQ(read.line, given.line);
  const LanguageFrame cut = unpack_frame(pack_frame({UINT32_MAX, kNoName, UINT32_MAX}));
  EXPECT_EQ(name_text(cut.function), "?");
  EXPECT_EQ(name_text(cut.file), "?");
  EXPECT_EQ(cut.line, (1u << 21) - 1);
}

TEST(Stacks, AreSharedBeyondTheirMostNumber) {
  const std::vector<uint64_t> first{77, 78};
  const StackId known = stack_id(first);
  StackId last = 0;
  for (uint64_t n = 0; n < kMostStacks; ++n) last = stack_id(std::vector<uint64_t>{n, 0xABCDEF});
  EXPECT_LT(last, kMostStacks);
  EXPECT_EQ(stack_id(std::vector<uint64_t>{1, 2, 3, 4, 5}), last);
  const auto frames = frames_of(last);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(name_text(unpack_frame(frames[0]).function), "(further stacks)");
  EXPECT_EQ(stack_id(first), known) << "those that are known stay";
}

}  // namespace
}  // namespace opd
