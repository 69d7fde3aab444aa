// Texts: how many edits lie between two words.
#include "base/text.h"

#include <gtest/gtest.h>

namespace opd {
namespace {

TEST(EditDistance, CountsInsertionsRemovalsAndReplacements) {
  const struct {
    const char *a, *b;
    size_t distance;
  } cases[] = {{"", "", 0},      {"ab", "ab", 0}, {"ab", "xab", 1},        {"ab", "abx", 1},
               {"xab", "ab", 1}, {"ab", "ba", 2}, {"abc", "axc", 1},       {"", "abc", 3},
               {"abc", "", 3},   {"b", "aab", 2}, {"kitten", "sitting", 3}};
  for (const auto &test : cases) EXPECT_EQ(edit_distance(test.a, test.b, 5), test.distance) << test.a << " " << test.b;
  EXPECT_EQ(edit_distance("ab", "abcdef", 3), 4u) << "only that it is more than the limit";
}

}  // namespace
}  // namespace opd
