// The summary of a benchmark as text, in TVM's layout: fields of twelve characters, in the middle of which texts stand.
#include <gtest/gtest.h>

#include "measure/benchmark.h"

namespace opd {
namespace {

TEST(ABenchmarksText, HasItsFiveNumbersInMilliseconds) {
  const auto benchmark = make_object<Benchmark>(std::vector<double>{0.001, 0.006, 0.002}, Benchmark::Course{});
  EXPECT_EQ(benchmark->to_text(),
            "Execution time summary:\n"
            " mean (ms)   median (ms)    max (ms)     min (ms)     std (ms)  \n"
            "   3.0000       2.0000       6.0000       1.0000       2.1602   ");  // sqrt((4 + 9 + 1) / 3) = 2.1602
}

TEST(ABenchmarksText, HasNumbersThatAreWiderThanTheirField) {
  const auto benchmark = make_object<Benchmark>(std::vector<double>{12345.6789}, Benchmark::Course{});
  EXPECT_EQ(benchmark->to_text(),
            "Execution time summary:\n"
            " mean (ms)   median (ms)    max (ms)     min (ms)     std (ms)  \n"
            "12345678.9000 12345678.9000 12345678.9000 12345678.9000    0.0000   ");
}

}  // namespace
}  // namespace opd
