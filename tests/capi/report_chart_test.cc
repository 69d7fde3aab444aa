// The charts of a report's page, drawn where the arithmetic beside each test says.
#include <cmath>

#include "support/occurrences.h"
#include "support/report_test.h"

namespace {

using opdyno::arg;
using opdyno::ReportBuilder;
using opdyno_test::occurrences;

struct Point {
  const char *name;
  double us, speed, intensity;
};

std::string roofline_page(const std::vector<Point> &points, double peak, double bandwidth) {
  const ReportBuilder builder;
  for (const Point &point : points) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg(point.name));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(point.us));
    builder.set_call("GFLOP/s", OPD_METRIC_RATIO, arg(point.speed));
    builder.set_call("Arithmetic Intensity (FLOP/byte)", OPD_METRIC_RATIO, arg(point.intensity));
  }
  builder.set_configuration("Peak GFLOP/s", OPD_METRIC_RATIO, arg(peak));
  builder.set_configuration("Peak Bandwidth (GB/s)", OPD_METRIC_RATIO, arg(bandwidth));
  return builder.finish().html();
}

// The ridge is at 1000 / 100 = 10 FLOP/byte. x goes from 10^floor(log 10 - 0.5) = 1 at 80 to 10^ceil(log 10 + 0.5) =
// 100 at 980, y from 10^2, the slowest point, at 400 to 10^ceil(3 + 0.2) = 10^4 at 20. So a decade is 450 wide and 190
// high. The roof's slope has its middle half a decade before the ridge; its angle is atan(-190 / 450) = -22.9 degrees.
TEST(ReportHtml, DrawsTheAxesAndTheRoofOfTheRoofline) {
  const std::string page = roofline_page({{"matmul", 1500, 100, 10}}, 1000, 100);
  for (const char *expected :
       {"<path class=\"axis\" d=\"M80.0 20.0V400.0\"/><text class=\"soft\" x=\"80.0\" y=\"420.0\" "
        "text-anchor=\"middle\">1</text>",
        "<path class=\"axis\" d=\"M530.0 20.0V400.0\"/><text class=\"soft\" x=\"530.0\" y=\"420.0\" "
        "text-anchor=\"middle\">10</text>",
        "<path class=\"axis\" d=\"M980.0 20.0V400.0\"/><text class=\"soft\" x=\"980.0\" y=\"420.0\" "
        "text-anchor=\"middle\">100</text>",
        "<path class=\"axis\" d=\"M80.0 400.0H980.0\"/><text class=\"soft\" x=\"72.0\" y=\"404.0\" "
        "text-anchor=\"end\">100</text>",
        "<path class=\"axis\" d=\"M80.0 210.0H980.0\"/><text class=\"soft\" x=\"72.0\" y=\"214.0\" "
        "text-anchor=\"end\">1000</text>",
        "<path class=\"axis\" d=\"M80.0 20.0H980.0\"/><text class=\"soft\" x=\"72.0\" y=\"24.0\" "
        "text-anchor=\"end\">10000</text>",
        "<text class=\"soft\" x=\"530.0\" y=\"444.0\" text-anchor=\"middle\">Arithmetic intensity (FLOP/byte)</text>",
        "<text class=\"soft\" transform=\"translate(20 210.0) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>",
        "<path class=\"roof\" d=\"M80.0 400.0L530.0 210.0H980.0\"/><text x=\"980.0\" y=\"202.0\" "
        "text-anchor=\"end\">1000 GFLOP/s</text>",
        "<text transform=\"translate(305.0 305.0) rotate(-22.9)\" y=\"-8\" text-anchor=\"middle\">100 GB/s</text>",
        // The only point has all the time, so its radius is 5 + 13. Its name begins 5 behind it.
        "<text class=\"name\" x=\"553.0\" y=\"404.0\">matmul</text>"})
    EXPECT_NE(page.find(expected), std::string::npos) << expected << "\n" << page;
  EXPECT_EQ(occurrences(page, "class=\"axis\""), 6u);
  EXPECT_NE(page.find("<svg viewBox=\"0 0 1000.0 460.0\""), std::string::npos) << page;
}

// The ridge is at 1000 / 10 = 100 FLOP/byte, the point at 1: x goes from 10^-1 to 10^3, 225 a decade. The roof reaches
// the slowest speed, 100, at 10 FLOP/byte: it begins there, not at the left edge.
TEST(ReportHtml, BeginsTheRoofWhereItEntersTheChart) {
  const std::string page = roofline_page({{"a", 3, 100, 1}, {"b", 1, 900, 1}}, 1000, 10);
  EXPECT_NE(page.find("<path class=\"roof\" d=\"M530.0 400.0L755.0 210.0H980.0\"/>"), std::string::npos) << page;
  // 1/4 of the time: 5 + 13 * sqrt(1/4) = 11.5; 3/4: 5 + 13 * 0.866 = 16.3.
  EXPECT_NE(page.find("cx=\"305.0\" cy=\"400.0\" r=\"16.3\""), std::string::npos) << page;
  EXPECT_NE(page.find("r=\"11.5\""), std::string::npos) << page;
}

// Intensities of 10^-4.2 and 10^4.2 make an axis from 10^-5 to 10^5, those of 10^-5.2 and 10^6.2 one from 10^-6 to
// 10^7: the former has a line for each of its 10 decades and the one at its end, the latter for every second of its 13.
TEST(ReportHtml, LeavesOutLinesOfALongAxis) {
  const auto lines = [](double least, double largest) {
    const std::string page =
        roofline_page({{"a", 1, 10, std::pow(10, least)}, {"b", 1, 10, std::pow(10, largest)}}, 10, 10);
    return occurrences(page, " 20.0V400.0\"");
  };
  EXPECT_EQ(lines(-4.2, 4.2), 11u);
  EXPECT_EQ(lines(-5.2, 5.2), 13u) << "12 decades, the most that have a line each";
  EXPECT_EQ(lines(-5.2, 6.2), 7u);
}

// Numbers have four digits.
TEST(ReportHtml, WritesTheNumbersOfTheRooflineInFourDigits) {
  const std::string page = roofline_page({{"a", 1, 123.456, 9.87654}}, 1234.56, 123.456);
  EXPECT_NE(page.find(" text-anchor=\"end\">1235 GFLOP/s</text>"), std::string::npos) << page;
  EXPECT_NE(page.find(">123.5 GB/s</text>\n"), std::string::npos) << page;
  EXPECT_NE(page.find("<title>a: 123.5 GFLOP/s at 9.877 FLOP/byte</title></circle>\n"), std::string::npos) << page;
  const size_t name = page.find("<text class=\"name\"");
  EXPECT_EQ(page.substr(page.find('>', name), 22), ">a</text>\n</svg></div>");
  EXPECT_NE(
      page.find("<h2>Roofline</h2>\n<p class=\"soft\">How fast each operator computes, for how much it computes per "
                "byte. Larger dots took longer.</p>\n<div class=\"chart\"><svg viewBox=\"0 0 1000.0 460.0\" "
                "role=\"img\" aria-label=\"Roofline: speed over arithmetic intensity; the table below has the "
                "numbers\">\n"),
      std::string::npos)
      << page;
}

// One decade is 190 high: 10^(16.5 / 190) = 1.2213 times the speed is 16.5 higher, 10^(15.5 / 190) = 1.2066 times 15.5.
// A line of names is 16 high.
TEST(ReportHtml, LeavesOutNamesThatWouldOverlap) {
  const auto names = [](double factor) {
    const std::string page = roofline_page({{"longest", 2, 100, 10}, {"shorter", 1, 100 * factor, 10}}, 1000, 100);
    return occurrences(page, "class=\"name\"");
  };
  EXPECT_EQ(names(1.2213), 2u);
  EXPECT_EQ(names(1.2066), 1u);
  const std::string page = roofline_page({{"shorter", 1, 100, 10}, {"longest", 2, 100, 10}}, 1000, 100);
  EXPECT_NE(page.find(">longest</text>"), std::string::npos) << "the longest has its name\n" << page;
}

TEST(ReportHtml, NamesAtMostEightPoints) {
  const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  std::vector<Point> points;
  for (int i = 0; i < 9; ++i) points.push_back({names[i], 1, std::pow(10, i), 1});
  EXPECT_EQ(occurrences(roofline_page(points, 1e9, 1e9), "class=\"name\""), 8u);
  points.pop_back();
  EXPECT_EQ(occurrences(roofline_page(points, 1e9, 1e9), "class=\"name\""), 8u);
}

TEST(ReportHtml, HasNoRooflineOfNumbersThatCannotBeDrawn) {
  EXPECT_EQ(occurrences(roofline_page({{"a", 1, 1, 1}}, 1000, 0), "<h2>Roofline"), 0u);
  EXPECT_EQ(occurrences(roofline_page({{"a", 1, 1, 1}}, 1e30, 1), "<h2>Roofline"), 0u)
      << "a peak of 10^30 is too large";
  EXPECT_EQ(occurrences(roofline_page({{"a", 1, 1, 1}}, 1e29, 1), "<h2>Roofline"), 1u);
  EXPECT_EQ(occurrences(roofline_page({{"a", 1, 0, 1}}, 1, 1), "<h2>Roofline"), 0u) << "the only point has no speed";
}

std::string bars_of(int operators, double us) {
  const ReportBuilder builder;
  for (int i = 0; i < operators; ++i) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg("op" + std::to_string(i)));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(us));
  }
  return builder.finish().html();
}

TEST(ReportHtml, ShowsALastOperatorInsteadOfOneOther) {
  EXPECT_EQ(occurrences(bars_of(21, 10), "<span class=\"bar\""), 21u);
  EXPECT_EQ(occurrences(bars_of(21, 10), " others: "), 0u);
  EXPECT_EQ(occurrences(bars_of(22, 10), "<span class=\"bar\""), 20u);
  EXPECT_EQ(occurrences(bars_of(22, 10), ">and 2 others: 20.00 µs · 9.1 %<"), 1u) << "2 of 22";
}

TEST(ReportHtml, WritesTimesInTheirUnit) {
  EXPECT_EQ(occurrences(bars_of(1, 999.99), ">999.99 µs · 100.0 %<"), 1u);
  EXPECT_EQ(occurrences(bars_of(1, 1000), ">1.00 ms · 100.0 %<"), 1u);
  EXPECT_EQ(occurrences(bars_of(1, 999'990), ">999.99 ms · 100.0 %<"), 1u);
  EXPECT_EQ(occurrences(bars_of(1, 1e6), ">1.00 s · 100.0 %<"), 1u);
  EXPECT_EQ(occurrences(bars_of(1, 0), ">0.00 µs<"), 1u) << "no share of nothing";
}

// The base of the shares is the longer of the devices' totals, though the calls together take less.
TEST(ReportHtml, SharesAreOfTheLongestTotal) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("relu"));
  builder.set_call("Device", OPD_METRIC_STRING, arg("cpu0"));
  builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg("float32[2]"));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(10));
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(20));
  builder.set_device("cuda0", "Duration (us)", OPD_METRIC_DURATION, arg(40));
  const std::string page = builder.finish().html();
  EXPECT_NE(page.find("<div class=\"row\" title=\"relu: float32[2] on cpu0\">"), std::string::npos) << page;
  EXPECT_NE(page.find("style=\"width:25.00%\"></span></span><span class=\"soft\">10.00 µs · 25.0 %</span>"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("<p class=\"soft\">20.00 µs on cpu0, 40.00 µs on cuda0, 1 call</p>"), std::string::npos) << page;
}

// A name of at most 24 characters is whole; of a longer one 12 at its beginning and 11 at its end are kept.
TEST(ReportHtml, ShortensNamesOfPointsInTheirMiddle) {
  EXPECT_NE(
      roofline_page({{"abcdefghijklmnopqrstuvwx", 1, 100, 10}}, 1000, 100).find(">abcdefghijklmnopqrstuvwx</text>"),
      std::string::npos);
  EXPECT_NE(
      roofline_page({{"abcdefghijklmnopqrstuvwxy", 1, 100, 10}}, 1000, 100).find(">abcdefghijkl…opqrstuvwxy</text>"),
      std::string::npos);
}

}  // namespace
