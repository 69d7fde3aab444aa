// main() of every test program. It adds to GoogleTest's output one line for each skipped test, which tools/test
// collects.
#include <gtest/gtest.h>

#include <cstdio>

namespace {

class SkipLines : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult &part) override {
    if (part.skipped()) reason_ = part.message();
  }
  void OnTestEnd(const testing::TestInfo &test) override {
    if (test.result()->Skipped())
      std::printf("skipped: %s.%s: %s\n", test.test_suite_name(), test.name(), reason_.c_str());
    reason_.clear();
  }
  std::string reason_;
};

}  // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new SkipLines);
  return RUN_ALL_TESTS();
}
