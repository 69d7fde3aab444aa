// Texts of a report's summary at the limits of their forms.
#include "support/report_test.h"

namespace {

using opdyno::arg;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno_test::summary;

std::string line_of(const std::string &text, size_t number) {
  std::istringstream lines(text);
  std::string line;
  for (size_t i = 0; i <= number; ++i) std::getline(lines, line);
  return line;
}

struct Call {
  const char *name;
  double us;
  double peak = -1;            // percent; below 0 there is none
  const char *kind = nullptr;  // of a row that is no call
};

Report report_of(const std::vector<Call> &calls) {
  const ReportBuilder builder;
  for (const Call &call : calls) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg(call.name));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(call.us));
    if (call.peak >= 0) builder.set_call("Percent of Peak", OPD_METRIC_PERCENT, arg(call.peak));
    if (call.kind) builder.set_call("Row Kind", OPD_METRIC_STRING, arg(call.kind));
  }
  return builder.finish();
}

std::string conclusion(const std::vector<Call> &calls) {
  const std::string text = summary(report_of(calls), 200);
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

TEST(ReportSummary, WritesTimesWithThreeDigits) {
  const std::pair<double, const char *> times[] = {
      {0, "<0.01 µs"},    {0.0049, "<0.01 µs"}, {0.005, "0.01 µs"},  {9.994, "9.99 µs"},  {9.996, "10.0 µs"},
      {99.94, "99.9 µs"}, {99.96, "100 µs"},    {999.4, "999 µs"},   {999.5, "1.00 ms"},  {9'994, "9.99 ms"},
      {9'996, "10.0 ms"}, {99'960, "100 ms"},   {999'400, "999 ms"}, {999'500, "1.00 s"}, {1.25e7, "12.5 s"}};
  for (const auto &[us, text] : times) {
    const std::string line = line_of(summary(report_of({{"a", us}})), 1);
    EXPECT_EQ(line.find(std::string(" ") + text) != std::string::npos, true) << us << ": " << line;
  }
  EXPECT_EQ(line_of(summary(report_of({{"a", -1}, {"b", 1}})), 2), "a                    0.0 %") << "no time below 0";
}

TEST(ReportSummary, WritesCountsWithThreeDigits) {
  const std::pair<int64_t, const char *> counts[] = {
      {999, "999"},      {1'000, "1.0k"},   {99'940, "99.9k"}, {99'960, "100k"},        {999'400, "999k"},
      {999'500, "1.0M"}, {-1'500, "-1.5k"}, {-999, "-999"},    {2'000'000'000, "2.0G"}, {INT64_MAX, "9.2E"}};
  for (const auto &[count, text] : counts) {
    const ReportBuilder builder;
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg("a"));
    builder.set_call("Cycles", OPD_METRIC_COUNT, arg(count));
    const std::string line = line_of(summary(builder.finish()), 1);
    EXPECT_TRUE(line.ends_with(std::string(" ") + text)) << count << ": " << line;
  }
}

TEST(ReportSummary, ShortensKnownDtypes) {
  const std::pair<const char *, const char *> shapes[] = {{"uint8[2]", "2 u8"},
                                                          {"int64[2, 3]", "2x3 i64"},
                                                          {"bfloat16[1]", "1 bf16"},
                                                          {"bool[2]", "2 bool"},
                                                          {"float8_e4m3fn[2]", "2 f8_e4m3fn"},
                                                          {"float[2]", "2 float"},
                                                          {"floats[2]", "2 floats"},
                                                          {"uint9[2]", "2 u9"},
                                                          {"float:32[2]", "2 float:32"},
                                                          {"float32[]", "f32"},
                                                          {"float32[2], int8[]", "2xf32 i8"},
                                                          {"float32[2], int8[3]", "2xf32 3xi8"}};
  for (const auto &[shape, text] : shapes) {
    const ReportBuilder builder;
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg("a"));
    builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg(shape));
    const std::string line = line_of(summary(builder.finish()), 1);
    EXPECT_TRUE(line.ends_with(std::string("  ") + text)) << shape << ": " << line;
  }
}

// A bar is 8 characters wide, in eighths: 3/4 of them are 6; 17/64 are 2 and an eighth.
TEST(ReportSummary, DrawsBarsInEighthsOfACharacter) {
  const std::string text = summary(report_of({{"a", 75}, {"b", 25}}), 100, 0, 1);
  EXPECT_EQ(line_of(text, 0),
            "\033[1mOperator\033[0m     \033[1mTime\033[0m   \033[1mShare\033[0m            "
            "\033[1mCalls\033[0m  \033[1mShapes\033[0m");
  EXPECT_EQ(line_of(text, 1), "a         75.0 µs  75.0 %  \033[34m██████\033[0m");
  EXPECT_EQ(line_of(text, 2), "b         25.0 µs  25.0 %  \033[34m██\033[0m");
  const std::string parts = summary(report_of({{"a", 47}, {"b", 17}}), 100, 0, 1);   // 376 of 512 and 136 of 512
  EXPECT_EQ(line_of(parts, 1), "a         47.0 µs  73.4 %  \033[34m█████▉\033[0m");  // 47 eighths
  EXPECT_EQ(line_of(parts, 2), "b         17.0 µs  26.6 %  \033[34m██▏\033[0m");     // 17 eighths
}

TEST(ReportSummary, DimsRowsThatAreNoCalls) {
  const std::string text = summary(report_of({{"a", 75}, {"(dispatch)", 25, -1, "dispatch"}}), 60, 0, 1);
  EXPECT_TRUE(line_of(text, 2).starts_with("\033[2m(dispatch)\033[0m  \033[2m25.0 µs\033[0m")) << text;
}

TEST(ReportSummary, ShowsALastRowInsteadOfOneMoreRow) {
  const Report report = report_of({{"a", 1}, {"b", 2}, {"c", 3}});
  EXPECT_EQ(summary(report, 80, 2).find("more row"), std::string::npos);
  EXPECT_EQ(line_of(summary(report, 80, 1), 2), "2 more rows, 50.0 %") << "1 + 2 of 6";
}

TEST(ReportSummary, LeavesOutShapesThatDoNotFitAsAWhole) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("a"));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(1));
  builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg("float32[1000, 1000], float32[2000, 2000]"));
  const Report report = builder.finish();
  // "Operator  " 10, "   Time  " 9, "  Share  " 8 and "Calls  " 7: 34 or 35 before the shapes.
  const std::string before = "a         1.00 µs  100.0 %         ";
  EXPECT_EQ(line_of(summary(report, 80), 1), before + "1000x1000 2000x2000 f32");
  const size_t wide = 35 + std::string("1000x1000 2000x2000 f32").size();
  EXPECT_EQ(line_of(summary(report, static_cast<int32_t>(wide)), 1), before + "1000x1000 2000x2000 f32");
  EXPECT_EQ(line_of(summary(report, static_cast<int32_t>(wide) - 1), 1), before + "1000x1000 … f32");
  EXPECT_EQ(line_of(summary(report, 35 + 12), 1), before + "1000x1000 …");
  EXPECT_EQ(line_of(summary(report, 35 + 11), 0).find("Shapes"), std::string::npos) << "no column of fewer than 12";
}

// 30 and 60 percent of the peak are neither far from it nor, from 60 on, without room.
TEST(ReportConclusion, NamesTheOperatorThatIsWorthOptimising) {
  EXPECT_EQ(conclusion({{"a", 10, 29.9}}),
            "a takes 100 % of the time but reaches 30 % of peak: a faster kernel would help\n");
  EXPECT_EQ(conclusion({{"a", 10, 30}}), "a takes 100 % of the time at 30 % of peak\n");
  EXPECT_EQ(conclusion({{"a", 10, 59.9}}), "a takes 100 % of the time at 60 % of peak\n");
  EXPECT_EQ(conclusion({{"a", 10, 60}}), "a takes 100 % of the time at 60 % of peak: only less work would help\n");
  EXPECT_EQ(conclusion({{"a", 10, 250}}), "a takes 100 % of the time at 100 % of peak: only less work would help\n");
  EXPECT_EQ(conclusion({{"a", 10, 0}}), "a takes 100 % of the time\n");
}

// Names have a quarter of the width and at least 16 characters, other columns at most 14. What is longer loses its
// middle.
TEST(ReportSummary, ShortensLongNamesInTheirMiddle) {
  const auto name = [](const char *text, int32_t width) {
    const std::string line = line_of(summary(report_of({{text, 1}}), width), 1);
    return line.substr(0, line.find("  "));
  };
  EXPECT_EQ(name("abcdefghijklmnopqrst", 80), "abcdefghijklmnopqrst");
  EXPECT_EQ(name("abcdefghijklmnopqrstu", 80), "abcdefghij…mnopqrstu");
  EXPECT_EQ(name("abcdefghijklmnop", 40), "abcdefghijklmnop");
  EXPECT_EQ(name("abcdefghijklmnopq", 40), "abcdefgh…klmnopq");
  EXPECT_EQ(name("ÄÖÜabcdefghijklmnopq", 40), "ÄÖÜabcde…klmnopq");
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("a"));
  builder.set_call("Fourteen wide!", OPD_METRIC_STRING, arg("abcdefghijklmn"));
  builder.set_call("Last of fifteen", OPD_METRIC_STRING, arg("abcdefghijklmno"));
  const Report report = builder.finish();
  EXPECT_EQ(line_of(summary(report, 100), 0), "Operator  Time  Share  Calls  Fourteen wide!  Last of…ifteen  Shapes");
  EXPECT_EQ(line_of(summary(report, 100), 1), "a                             abcdefghijklmn  abcdefg…jklmno");
  EXPECT_EQ(line_of(summary(report, 50), 0), "Operator  Time  Share  Calls  Fourteen wide!");
  EXPECT_EQ(line_of(summary(report, 50), 2), "Also measured: Last of fifteen");
}

TEST(ReportConclusion, IsAbsentIfCallsTookNoTime) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("a"));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(0));
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(5));
  EXPECT_TRUE(summary(builder.finish()).ends_with("\nTotal 5.00 µs on cpu0\n"));
}

TEST(ReportConclusion, WarnsOfDispatchFromAFifthOfTheTime) {
  EXPECT_EQ(conclusion({{"a", 80}, {"d", 20, -1, "dispatch"}}),
            "a takes 80 % of the time; dispatch 20 %: fewer and larger operators would help\n");
  EXPECT_EQ(conclusion({{"a", 81}, {"d", 19, -1, "dispatch"}}), "a takes 81 % of the time; dispatch 19 %\n");
  EXPECT_EQ(conclusion({{"a", 10}, {"d", 90, -1, "dispatch"}}),
            "a takes 10 % of the time; dispatch 90 %: fewer and larger operators would help\n")
      << "a row that is no call does not lead";
}

// Below 9.95 % a percentage has a decimal.
TEST(ReportConclusion, NamesTheOperatorThatTookLongestInAllItsCalls) {
  EXPECT_EQ(conclusion({{"a", 40}, {"b", 30}, {"b", 30}}), "b takes 60 % of the time\n");
  EXPECT_EQ(conclusion({{"a", 994, 9.94}, {"b", 6}}),
            "a takes 99 % of the time but reaches 9.9 % of peak: a faster kernel would help\n");
  EXPECT_EQ(conclusion({{"a", 994, 9.96}, {"b", 6}}),
            "a takes 99 % of the time but reaches 10 % of peak: a faster kernel would help\n");
  EXPECT_EQ(conclusion({{"a", 10, 10}, {"a", 30, 50}}), "a takes 100 % of the time at 40 % of peak\n")
      << "(10 * 10 + 30 * 50) / 40";
}

TEST(ReportSummary, NamesTheErrorThatCameFirst) {
  const Report report = Report::from_json(
      R"-({"calls":[{"Name":{"string":"fine"}},{"Name":{"string":"inner"},"Error":{"string":"E: no room"}},)-"
      R"-({"Name":{"string":"outer"},"Error":{"string":"E: later"}}]})-");
  const std::string text = summary(report);
  EXPECT_TRUE(text.starts_with("inner failed: E: no room\n")) << text;
  EXPECT_EQ(text.find("outer failed"), std::string::npos) << text;
}

TEST(ReportSummary, CountsRunsFromTwoOn) {
  const auto total = [](int runs) {
    const ReportBuilder builder;
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg("a"));
    builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(5));
    builder.set_device("cpu0", "Count", OPD_METRIC_COUNT, arg(runs));
    return line_of(summary(builder.finish()), 2);
  };
  EXPECT_EQ(total(1), "Total 5.00 µs on cpu0");
  EXPECT_EQ(total(2), "Total 5.00 µs in 2 runs on cpu0");
}

}  // namespace
