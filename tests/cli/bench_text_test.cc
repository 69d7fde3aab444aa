// The pieces of what `opdyno bench` prints, and the sizes that it sweeps over.
#include <gtest/gtest.h>

#include <cmath>

#include "../../src/cli/bench.h"

namespace opd::cli {
namespace {

TEST(BenchText, TimesHaveAFittingUnit) {
  const std::pair<double, const char *> times[] = {
      {0, "0.0 ns"},      {9.99e-7, "999.0 ns"}, {1e-6, "1.000 us"}, {9.99e-4, "999.000 us"},
      {1e-3, "1.000 ms"}, {0.999, "999.000 ms"}, {1, "1.000 s"},     {90, "90.000 s"}};
  for (const auto &[seconds, text] : times) EXPECT_EQ(time_text(seconds), text) << seconds;
}

TEST(BenchText, RatesHaveThreeDigitsOrAllOfWholeNumbers) {
  EXPECT_EQ(rate_text(0.12345), "0.123");
  EXPECT_EQ(rate_text(99.94), "99.9");
  EXPECT_EQ(rate_text(100), "100");
  EXPECT_EQ(rate_text(1234.5678), "1235");
}

TEST(BenchText, AnIntervalMayBeUnknown) {
  opd_benchmark_stats stats{};
  stats.median_low = 1e-3, stats.median_high = 2e-3;
  EXPECT_EQ(interval_text(stats), "1.000 ms to 2.000 ms");
  stats.median_high = INFINITY;
  EXPECT_EQ(interval_text(stats), "unknown");
}

TEST(BenchText, WhatDisturbsTimesIsMarked) {
  EXPECT_EQ(machine_text({{"governor", "powersave", true}, {"turbo", "off", false}}),
            "  machine: governor powersave (!), turbo off\n");
  EXPECT_EQ(machine_text({}), "  machine:\n");
}

TEST(BenchText, ColumnsAreAlignedAtTheirRight) {
  EXPECT_EQ(columns_text({{"n", "median", ""}, {"1", "20 us", "(noisy)"}, {"1000", "3 us", ""}}),
            "     n  median\n     1   20 us  (noisy)\n  1000    3 us\n");
}

std::string swept(const std::vector<std::string> &options) {
  static const Option sweep{"sweep", 0, "NAME=SIZES", "", true};
  std::vector<std::string> words;
  for (const std::string &option : options) words.push_back(cat("--sweep=", option));
  try {
    std::string text;
    for (const Sizes &sizes : sweep_of(Args::parse(words, {&sweep})))
      text += cat(text.empty() ? "" : "; ", sizes_text(sizes));
    return text;
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), Exit::usage);
    return failure.what();
  }
}

TEST(ASweep, HasAllCombinationsOfItsSizes) {
  EXPECT_EQ(swept({}), "") << "one row without sizes";
  EXPECT_EQ(swept({"n=8"}), "n=8");
  EXPECT_EQ(swept({"n=0,7,3"}), "n=0; n=7; n=3");
  EXPECT_EQ(swept({"n=1:3"}), "n=1; n=2; n=3");
  EXPECT_EQ(swept({"n=3:3"}), "n=3");
  EXPECT_EQ(swept({"n=16:64:16"}), "n=16; n=32; n=48; n=64");
  EXPECT_EQ(swept({"n=16:63:16"}), "n=16; n=32; n=48");
  EXPECT_EQ(swept({"n=1:8:x2,9"}), "n=1; n=2; n=4; n=8; n=9");
  EXPECT_EQ(swept({"n=1:7:x2"}), "n=1; n=2; n=4");
  EXPECT_EQ(swept({"a=1,2", "b=3,4"}), "a=1, b=3; a=1, b=4; a=2, b=3; a=2, b=4");
  EXPECT_EQ(swept({"n=9223372036854775806:9223372036854775807"}), "n=9223372036854775806; n=9223372036854775807");
}

TEST(ASweep, IsRefusedIfItIsNone) {
  for (const char *text :
       {"n", "=1", "n=", "n=1:", "n=x", "n=-1", "n=2:1", "n=1:2:0", "n=1:8:x1", "n=0:8:x2", "n=1:2:3:4", "n=1:2:x"})
    EXPECT_EQ(swept({text}),
              cat("option '--sweep' takes a name and sizes as n=1,8,64 or n=16:64:16 or n=1:64:x2, not '", text, "'"));
  EXPECT_EQ(swept({"n=1:3,2"}), "option '--sweep n=1:3,2' names a size twice");
  EXPECT_EQ(swept({"n=1", "n=2"}), "option '--sweep' is given twice for n");
  EXPECT_EQ(swept({"n=1:1001"}), "option '--sweep n=1:1001' has more than 1000 sizes");
  EXPECT_TRUE(swept({"n=1:1000"}).ends_with("; n=1000"));
  EXPECT_EQ(swept({"a=1:40", "b=1:26"}), "the options --sweep have more than 1000 combinations");
  EXPECT_TRUE(swept({"a=1:40", "b=1:25"}).ends_with("; a=40, b=25"));
}

}  // namespace
}  // namespace opd::cli
