// Tables, Markdown and HTML.
#include <map>
#include <regex>
#include <sstream>

#include "support/report_test.h"

namespace {

using opdyno::arg;
using opdyno::Handle;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno_test::expect_error;
using opdyno_test::summary;

opd_report_write_options as_it_is() {
  opd_report_write_options options;
  opd_report_write_options_init(&options);
  options.sort = options.aggregate = options.col_sums = 0;
  return options;
}

TEST(ReportTable, HeadersAndKeysStayOnOneLine) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("a\nb", OPD_METRIC_COUNT, arg(1));
  builder.set_configuration("c\nd", OPD_METRIC_STRING, arg("e\nf"));
  const std::string table = builder.finish().table();
  EXPECT_NE(table.find("  a b  \n"), std::string::npos) << table;
  EXPECT_NE(table.find("\nc d: e f\n"), std::string::npos) << table;
}

// ---- Markdown

TEST(ReportMarkdown, HasTheRowsOfTheTable) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("relu"));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(1.5));
  builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg("float32[4, 256], float32[4, 256]"));
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(2));
  builder.set_configuration("Executor", OPD_METRIC_STRING, arg("VM"));
  EXPECT_EQ(builder.finish().markdown(),
            "| Name | Duration (us) | Percent | Device | Count | Argument Shapes |\n"
            "| :--- | ---: | ---: | ---: | ---: | :--- |\n"
            "| relu | 1.50 |  |  |  | float32[4, 256], float32[4, 256] |\n"
            "| Sum | 1.50 |  |  |  |  |\n"
            "| Total | 2.00 |  |  |  |  |\n"
            "\nConfiguration\n\n- Executor: VM\n");
}

TEST(ReportMarkdown, EscapesCharactersOfMarkdown) {
  const ReportBuilder builder;
  for (const char *name : {"a|b", "*bold*", "_soft_", "check_tensor_info", "`code`", "<script>", "&amp;", "[x](y)",
                           "~s~", "two\nlines", "\\"}) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg(name));
  }
  builder.set_configuration("[a]", OPD_METRIC_STRING, arg("b"));
  builder.set_configuration("# c", OPD_METRIC_STRING, arg("d"));
  const opd_report_write_options options = as_it_is();
  const std::string text = builder.finish().markdown(&options);
  for (const char *expected :
       {"| a\\|b |", "| \\*bold\\* |", "| \\_soft\\_ |", "| check_tensor_info |", "| \\`code\\` |", "| &lt;script> |",
        "| &amp;amp; |", "| [x\\](y) |", "| \\~s\\~ |", "| two lines |", "| \\\\ |", "- [a\\]: b\n", "- \\# c: d\n"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
}

// ---- HTML

Report roofline(bool peak) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("matmul"));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(1500));
  builder.set_call("GFLOP/s", OPD_METRIC_RATIO, arg(100));
  builder.set_call("Arithmetic Intensity (FLOP/byte)", OPD_METRIC_RATIO, arg(10));
  for (const char *only : {"GFLOP/s", "Arithmetic Intensity (FLOP/byte)"}) {  // no points, for want of the other number
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg("half"));
    builder.set_call(only, OPD_METRIC_RATIO, arg(5));
  }
  builder.set_configuration("Peak GFLOP/s", OPD_METRIC_RATIO, arg(peak ? 1000 : 0));
  builder.set_configuration("Peak Bandwidth (GB/s)", OPD_METRIC_RATIO, arg(100));
  return builder.finish();
}

// A point near the right edge has its name on its left. A character is taken to be 7.2 wide.
TEST(ReportHtml, NamesThePointsOfTheRooflineWithinTheChart) {
  const ReportBuilder builder;
  int number = 0;
  for (const auto &[intensity, speed] : std::map<double, double>{{0.01, 1}, {1, 10}, {100, 100}, {90'000, 900}}) {
    builder.add_call();
    const std::string name = "a_rather_long_name_" + std::to_string(number++);
    builder.set_call("Name", OPD_METRIC_STRING, arg(name.c_str()));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(100));
    builder.set_call("GFLOP/s", OPD_METRIC_RATIO, arg(speed));
    builder.set_call("Arithmetic Intensity (FLOP/byte)", OPD_METRIC_RATIO, arg(intensity));
  }
  builder.set_configuration("Peak GFLOP/s", OPD_METRIC_RATIO, arg(1000));
  builder.set_configuration("Peak Bandwidth (GB/s)", OPD_METRIC_RATIO, arg(100));
  const std::string page = builder.finish().html();
  const std::regex name("<text class=\"name\" x=\"([0-9.-]+)\" y=\"[0-9.-]+\"( text-anchor=\"end\")?>([^<]*)<");
  int on_the_left = 0, on_the_right = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), name), end; at != end; ++at) {
    const double x = std::stod((*at)[1]), wide = 7.2 * static_cast<double>((*at)[3].length());
    const bool is_left = (*at)[2].matched;
    ++(is_left ? on_the_left : on_the_right);
    EXPECT_GE(is_left ? x - wide : x, 80) << "the axis";
    EXPECT_LE(is_left ? x : x + wide, 980) << "the right edge";
  }
  EXPECT_EQ(on_the_left, 1);
  EXPECT_GE(on_the_right, 2);
}

TEST(ReportHtml, DrawsTheRooflineWhereItsNumbersAre) {
  const std::string page = roofline(true).html();
  EXPECT_NE(page.find("<h2>Roofline</h2>"), std::string::npos);
  // x from 10^0 (ridge 10, half a decade to its left) to 10^2, y from 10^2 to 10^4: the ridge and the point at the
  // middle.
  EXPECT_NE(page.find("<circle class=\"dot\" cx=\"530.0\" cy=\"400.0\" r=\"18.0\">"), std::string::npos) << page;
  EXPECT_EQ(page.find("<circle"), page.rfind("<circle")) << page;
  EXPECT_NE(page.find("L530.0 210.0H980.0"), std::string::npos) << page;
  EXPECT_EQ(roofline(false).html().find("Roofline"), std::string::npos);
  EXPECT_EQ(Report::from_json("{\"calls\":[]}").html().find("Roofline"), std::string::npos);
}

TEST(ReportHtml, NamesEachPointOfTheRoofline) {
  const ReportBuilder builder;
  const auto add = [&](const char *name, double us, double speed, double intensity) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg(name));
    builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg("float32[4]"));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(us));
    builder.set_call("GFLOP/s", OPD_METRIC_RATIO, arg(speed));
    builder.set_call("Arithmetic Intensity (FLOP/byte)", OPD_METRIC_RATIO, arg(intensity));
  };
  add("short", 1, 12.5, 0.25);
  add("long", 9, 800, 4);
  builder.set_configuration("Peak GFLOP/s", OPD_METRIC_RATIO, arg(1000));
  builder.set_configuration("Peak Bandwidth (GB/s)", OPD_METRIC_RATIO, arg(100));
  const std::string page = builder.finish().html();
  const size_t first = page.find("<title>long: float32[4]: 800 GFLOP/s at 4 FLOP/byte</title>");
  const size_t second = page.find("<title>short: float32[4]: 12.5 GFLOP/s at 0.25 FLOP/byte</title>");
  EXPECT_NE(second, std::string::npos) << page;
  EXPECT_LT(first, second) << "the longest one first, so that the others are drawn over it";
}

TEST(ReportHtml, EscapesAllTextAndFetchesNothing) {
  const char *const evil = "<img src=x onerror=alert(1)>&\"'</title></script>";
  const ReportBuilder builder;
  builder.add_call();
  for (const char *column : {"Name", "Device", "Argument Shapes", evil})
    builder.set_call(column, OPD_METRIC_STRING, arg(evil));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(1));
  builder.set_call("GFLOP/s", OPD_METRIC_RATIO, arg(1));
  builder.set_call("Arithmetic Intensity (FLOP/byte)", OPD_METRIC_RATIO, arg(1));
  builder.set_device(evil, "Duration (us)", OPD_METRIC_DURATION, arg(2));
  builder.set_configuration("Peak GFLOP/s", OPD_METRIC_RATIO, arg(10));
  builder.set_configuration("Peak Bandwidth (GB/s)", OPD_METRIC_RATIO, arg(10));
  builder.set_configuration(evil, OPD_METRIC_STRING, arg(evil));
  const std::string page = builder.finish().html();
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_NE(page.find("&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;&lt;/title&gt;&lt;/script&gt;"),
            std::string::npos);
  EXPECT_EQ(page.find("</script>"), page.rfind("</script>"));
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find(".warning{"), std::string::npos) << "it has its style";
  for (const char *fetch : {"http://", "https://", "src=\"", "href=", "url(", "@import"})
    EXPECT_EQ(page.find(fetch), std::string::npos) << fetch;
}

TEST(ReportHtml, ShowsTheLongestOperatorsAndAddsUpTheOthers) {
  const ReportBuilder builder;
  for (int i = 1; i <= 30; ++i) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg("op" + std::to_string(i)));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(i * 10));
  }
  const std::string page = builder.finish().html();
  size_t bars = 0;
  for (size_t i = page.find("<span class=\"bar\""); i != std::string::npos; i = page.find("<span class=\"bar\"", i + 1))
    ++bars;
  EXPECT_EQ(bars, 20u);
  // 10 + 20 + … + 100 = 550 of 10 + … + 300 = 4650: 11.8 %
  EXPECT_NE(page.find("and 10 others: 550.00 µs · 11.8 %"), std::string::npos) << page;
  EXPECT_NE(page.find(">op30</span>"), std::string::npos);
  EXPECT_NE(page.find("style=\"width:6.45%\""), std::string::npos) << "300 of the total of 4650";
  EXPECT_NE(page.find("300.00 µs · 6.5 %"), std::string::npos);
}

// Calls of two operators, conv2d in two shapes: 60 and 20 of 100 µs, at 2 % and 6 % of the peak: together at
// (60 * 2 + 20 * 6) / 80 = 3 %.
Report two_operators(double dispatch_us) {
  const ReportBuilder builder;
  const auto add = [&](const char *name, double us, const char *shapes) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg(name));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(us));
    builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg(shapes));
    builder.set_call("Count", OPD_METRIC_COUNT, arg(1));
  };
  add("conv2d", 60, "float32[8, 8], float32[3], int64[]");
  builder.set_call("Percent of Peak", OPD_METRIC_PERCENT, arg(2.0));
  add("conv2d", 20, "float32[4, 4], float32[3]");
  builder.set_call("Percent of Peak", OPD_METRIC_PERCENT, arg(6.0));
  add("relu", 20 - dispatch_us, "float32[4]");
  builder.set_call("Percent of Peak", OPD_METRIC_PERCENT, arg(250.0));
  add("(dispatch)", dispatch_us, "");
  builder.set_call("Row Kind", OPD_METRIC_STRING, arg("dispatch"));
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(100.0));
  builder.set_device("cpu0", "Count", OPD_METRIC_COUNT, arg(3));
  return builder.finish();
}

TEST(ReportSummary, HasTheRowsThatFitAndASentence) {
  EXPECT_EQ(summary(two_operators(1), 80),
            "Operator       Time   Share  Calls  Of peak  Shapes\n"
            "conv2d      60.0 µs  60.0 %      1    2.0 %  8x8xf32 3xf32 i64\n"
            "conv2d      20.0 µs  20.0 %      1    6.0 %  4x4 3 f32\n"
            "relu        19.0 µs  19.0 %      1   >100 %  4 f32\n"
            "(dispatch)  1.00 µs   1.0 %      1\n"
            "Total 100 µs in 3 runs on cpu0\n"
            "\n"
            "conv2d takes 80 % of the time but reaches 3.0 % of peak: a faster kernel would\n"
            "help; dispatch 1.0 %\n");
}

TEST(ReportSummary, HasItsSentenceForTheShortestTimes) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("relu"));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(0.25));
  EXPECT_NE(summary(builder.finish(), 80).find("relu takes 100 % of the time"), std::string::npos);
}

TEST(ReportSummary, NamesDispatchIfItTakesMuchTime) {
  EXPECT_NE(summary(two_operators(20), 200).find("dispatch 20 %: fewer and larger operators would help\n"),
            std::string::npos);
}

TEST(ReportSummary, LeavesOutRowsThatDoNotFitAndCountsThem) {
  const std::string text = summary(two_operators(1), 40, 1);
  EXPECT_NE(text.find("conv2d    60.0 µs  60.0 %      1"), std::string::npos) << text;
  EXPECT_NE(text.find("\n3 more rows, 40.0 %\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("Shapes"), std::string::npos) << text;
  EXPECT_EQ(summary(two_operators(1), 80).find('\033'), std::string::npos);
  EXPECT_NE(summary(two_operators(1), 80, 0, 1).find("\033["), std::string::npos);
}

TEST(ReportSummary, HasMinorColumnsBehindTheShapesIfThereIsRoom) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("add"));
  builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg("float32[4]"));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(10.0));
  builder.set_call("Count", OPD_METRIC_COUNT, arg(1));
  builder.set_call("Cycles", OPD_METRIC_COUNT, arg(12'345'678));
  builder.set_call("FLOP", OPD_METRIC_COUNT, arg(4'000));
  builder.set_call("Start (us)", OPD_METRIC_DURATION, arg(2'500.0));
  const opdyno::Report report = builder.finish();
  EXPECT_EQ(summary(report, 100).substr(0, summary(report, 100).find("\n\n")),
            "Operator     Time    Share  Calls  Cycles  Shapes  FLOP    Start\n"
            "add       10.0 µs  100.0 %      1   12.3M  4 f32   4.0k  2.50 ms");
  EXPECT_NE(summary(report, 60).find("\nAlso measured: Start (us)\n"), std::string::npos) << summary(report, 60);
}

TEST(ReportSummary, WithoutTimesCountsTheRowsLeftOutAlone) {
  const ReportBuilder builder;
  for (const char *name : {"one", "two", "three"}) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg(name));
  }
  const std::string text = summary(builder.finish(), 80, 1);
  EXPECT_NE(text.find("\n2 more rows\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST(ReportSummary, IsRefusedWithoutRoom) {
  const Report report = two_operators(1);
  opd_report_write_options options;
  opd_report_write_options_init(&options);
  Handle<opd_buffer> text;
  options.width = 39;
  expect_error(opd_report_write(report.get(), OPD_REPORT_TABLE, &options, text.out()), OPD_INVALID_ARGUMENT,
               "at least 40, but is 39");
  options.width = 40, options.max_rows = -1;
  expect_error(opd_report_write(report.get(), OPD_REPORT_TABLE, &options, text.out()), OPD_INVALID_ARGUMENT,
               "max_rows");
}

TEST(ReportSummary, ShowsReportsOfNothingAndOfAnyText) {
  EXPECT_EQ(summary(Report::from_json(R"({"calls":[]})"), 80), "Operator  Time  Share  Calls  Shapes\n");
  const Report report = Report::from_json(
      R"x({"calls":[{"Name":{"string":"a\u001b[31m\nb"},"Duration (us)":{"microseconds":null},)x"
      R"x("Argument Shapes":{"string":"][,x"}}],)x"
      R"("configuration":{"Collector error: x\u001b":{"string":"y\n"},"Dropped calls":{"count":3},"Note":{"string":"n"}}})");
  const std::string text = summary(report, 80);
  EXPECT_TRUE(text.starts_with("collector x  failed: y\n3 calls found no room and have no row\nn\n")) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
}

TEST(ReportViews, NameFailedCollectorsAboveTheTable) {
  const Report report = Report::from_json(
      R"x({"calls":[{"Name":{"string":"f"},"Duration (us)":{"microseconds":1}}],"configuration":)x"
      R"x({"Collector error: a|b":{"string":"no counters"},"Collector error: c":{"string":"gone"}}})x");
  const std::string table = report.table(), markdown = report.markdown();
  EXPECT_TRUE(table.starts_with("collector a|b failed: no counters\ncollector c failed: gone\n\nName")) << table;
  EXPECT_TRUE(markdown.starts_with("collector a\\|b failed: no counters\n\ncollector c failed: gone\n\n| Name"))
      << markdown;
}

TEST(ReportHtml, CountsTheOperatorsCallsAlone) {
  const ReportBuilder builder;
  for (const char *name : {"matmul", "relu", "matmul", "(builtins)", "(dispatch)", "(profiler)"}) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg(name));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(10));
    if (*name == '(') builder.set_call("Row Kind", OPD_METRIC_STRING, arg(std::string(name + 1, strlen(name) - 2)));
  }
  const std::string page = builder.finish().html();
  EXPECT_NE(page.find(">3 calls in 5 rows</p>"), std::string::npos) << page;
}

TEST(ReportHtml, HasTheSumBelowTheRowsAndNoRule) {
  const std::string page =
      Report::from_json(R"-({"calls":[{"Name":{"string":"matmul"},"Duration (us)":{"microseconds":10}},
                                      {"Name":{"string":"relu"},"Duration (us)":{"microseconds":10}}]})-")
          .html();
  const size_t foot = page.find("<tfoot>"), end = page.find("</tfoot>");
  ASSERT_NE(end, std::string::npos);
  const std::string below = page.substr(foot, end - foot);
  EXPECT_EQ(below.find("<tr>"), below.rfind("<tr>")) << below;
  EXPECT_NE(below.find("Sum"), std::string::npos) << below;
  EXPECT_EQ(below.find("----"), std::string::npos) << below;
}

TEST(ReportHtml, ShowsReportsOfAnyNumbers) {
  for (
      const char *numbers :
      {R"-({"calls":[]})-", R"-({"calls":[{}]})-",
       R"-({"calls":[{"Duration (us)":{"microseconds":null}},{"Duration (us)":{"microseconds":1e999}},{"Duration (us)":{"microseconds":-5}}]})-",
       R"-({"calls":[{"GFLOP/s":{"ratio":1e300},"Arithmetic Intensity (FLOP/byte)":{"ratio":1e-300}},{"GFLOP/s":{"ratio":1e29},"Arithmetic Intensity (FLOP/byte)":{"ratio":1e-29}}],"configuration":{"Peak GFLOP/s":{"ratio":1e-29},"Peak Bandwidth (GB/s)":{"ratio":1e29}}})-"}) {
    const std::string page = Report::from_json(numbers).html();
    EXPECT_NE(page.find("</html>"), std::string::npos);
    EXPECT_EQ(page.find("=\"nan"), std::string::npos) << page;
    EXPECT_EQ(page.find("=\"inf"), std::string::npos) << page;
    EXPECT_LT(page.size(), 20000u);
  }
}

}  // namespace
