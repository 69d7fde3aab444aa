// The page of a report as a whole, without its style and its script.
#include "support/report_test.h"

namespace {

using opdyno::arg;
using opdyno::Report;
using opdyno::ReportBuilder;

// Without what stands between <style> and </style>, and <script> and </script>.
std::string without_code(std::string page) {
  for (const std::string tag : {"style", "script"}) {
    const size_t begin = page.find("<" + tag + ">") + tag.size() + 2, end = page.find("</" + tag + ">");
    EXPECT_GT(end, begin + 100) << tag;
    page.erase(begin, end - begin);
  }
  return page;
}

std::string page_of(const Report &report, int sort, int aggregate, int col_sums) {
  opd_report_write_options options;
  opd_report_write_options_init(&options);
  options.sort = sort, options.aggregate = aggregate, options.col_sums = col_sums;
  return without_code(report.html(&options));
}

const std::string kHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>opdyno report</title>\n<style></style></head><body>\n<h1>Where the time went</h1>\n";
const std::string kBars =
    "<h2>Time per operator</h2>\n<div class=\"bars\" role=\"img\" "
    "aria-label=\"Time of each operator as bars; the table below has the numbers\">\n";
const std::string kTable = "<h2>All operators</h2>\n<div class=\"scroll\"><table><thead><tr>";
const std::string kEnd = "<script></script></body></html>\n";

std::string bar(const char *title, const char *name, const char *width, const char *time) {
  return std::string("<div class=\"row\" title=\"") + title + "\"><span class=\"who\">" + name +
         "</span><span class=\"track\"><span class=\"bar\" style=\"width:" + width +
         "%\"></span></span><span class=\"soft\">" + time + "</span></div>\n";
}
// Cells of texts begin with '"', which is not shown.
std::string cells(const char *tag, const char *scope, const std::vector<std::string> &texts) {
  std::string out;
  for (const std::string &text : texts)
    out += std::string("<") + tag + scope + (text.starts_with('"') ? " class=\"text\">" + text.substr(1) : ">" + text) +
           "</" + tag + ">";
  return out;
}
std::string row(const std::vector<std::string> &texts) { return "<tr>" + cells("td", "", texts) + "</tr>\n"; }

// Two calls of "mul" with 30 and 50 µs and one of "add" with 20 µs.
Report sample() {
  const ReportBuilder builder;
  const std::pair<const char *, double> calls[] = {{"add", 20}, {"mul", 30}, {"mul", 50}};
  for (const auto &[name, us] : calls) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg(name));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(us));
    builder.set_call("Count", OPD_METRIC_COUNT, arg(1));
    builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg("int8[2]"));
  }
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(100));
  builder.set_device("cpu0", "Device", OPD_METRIC_STRING, arg("cpu0"));
  builder.set_configuration("Executor", OPD_METRIC_STRING, arg("VM"));
  builder.set_configuration("Threads", OPD_METRIC_COUNT, arg(4));
  builder.set_configuration("Note", OPD_METRIC_STRING, arg("busy"));
  return builder.finish();
}

TEST(ReportPage, HasWarningsASentenceBarsATableAndTheConfiguration) {
  EXPECT_EQ(
      page_of(sample(), 1, 1, 1),
      kHead + "<p class=\"warning\">busy</p>\n<p class=\"soft\">100.00 µs on cpu0, 3 calls in 2 rows</p>\n" +
          "<p class=\"conclusion\">mul takes 80 % of the time</p>\n" + kBars +
          bar("mul: int8[2]", "mul", "80.00", "80.00 µs · 80.0 %") +
          bar("add: int8[2]", "add", "20.00", "20.00 µs · 20.0 %") + "</div>\n" + kTable +
          cells("th", " scope=\"col\"", {"\"Name"}) + "<th scope=\"col\" aria-sort=\"descending\">Duration (us)</th>" +
          cells("th", " scope=\"col\"",
                {"Percent", "\"Device", "Count", "\"Argument Shapes", "Median (us)", "Min (us)", "Max (us)"}) +
          "</tr></thead>\n<tbody>\n" + row({"\"mul", "80.00", "", "\"", "2", "\"int8[2]", "40.00", "30.00", "50.00"}) +
          row({"\"add", "20.00", "", "\"", "1", "\"int8[2]", "20.00", "20.00", "20.00"}) + "</tbody>\n<tfoot>\n" +
          row({"\"Sum", "100.00", "", "\"", "3", "\"", "", "", ""}) +
          row({"\"Total", "100.00", "", "\"cpu0", "", "\"", "", "", ""}) +
          "</tfoot></table></div>\n<h2>Configuration</h2>\n<dl>\n<dt>Executor</dt><dd>VM</dd>\n"
          "<dt>Threads</dt><dd>4</dd>\n<dt>Note</dt><dd>busy</dd>\n</dl>\n" +
          kEnd);
}

TEST(ReportPage, HasTheCallsInTheirOrderIfAskedFor) {
  const std::string page = page_of(sample(), 0, 0, 0);
  const std::string table = page.substr(page.find("<table>"), page.find("</table>") - page.find("<table>"));
  EXPECT_EQ(table, "<table><thead><tr>" +
                       cells("th", " scope=\"col\"",
                             {"\"Name", "Duration (us)", "Percent", "\"Device", "Count", "\"Argument Shapes"}) +
                       "</tr></thead>\n<tbody>\n" + row({"\"add", "20.00", "", "\"", "1", "\"int8[2]"}) +
                       row({"\"mul", "30.00", "", "\"", "1", "\"int8[2]"}) +
                       row({"\"mul", "50.00", "", "\"", "1", "\"int8[2]"}) + "</tbody>\n<tfoot>\n" +
                       row({"\"Total", "100.00", "", "\"cpu0", "", "\""}) + "</tfoot>");
  EXPECT_NE(page.find("<p class=\"soft\">100.00 µs on cpu0, 3 calls</p>\n"), std::string::npos) << page;
  // The bars begin with the longest in either order.
  EXPECT_LT(page.find(bar("mul: int8[2]", "mul", "50.00", "50.00 µs · 50.0 %")),
            page.find(bar("mul: int8[2]", "mul", "30.00", "30.00 µs · 30.0 %")));
}

TEST(ReportPage, HasNoSentenceAndNoConfigurationIfItIsEmpty) {
  EXPECT_EQ(page_of(Report::from_json(R"({"calls":[]})"), 1, 1, 0),
            kHead + "<p class=\"soft\">0 calls</p>\n" + kBars + "</div>\n" + kTable +
                cells("th", " scope=\"col\"", {"\"Name"}) +
                "<th scope=\"col\" aria-sort=\"descending\">Duration (us)</th>" +
                cells("th", " scope=\"col\"", {"Percent", "Device", "Count", "Argument Shapes"}) +
                "</tr></thead>\n<tbody>\n</tbody>\n<tfoot>\n</tfoot></table></div>\n" + kEnd);
}

// "Self (us)" has a call's own time: bars and the sentence are of that.
TEST(ReportPage, ShowsSelfTimes) {
  const ReportBuilder builder;
  const struct {
    const char *name;
    double us, self;
  } calls[] = {{"outer", 100, 25}, {"inner", 75, 75}, {"broken", 10, -5}};
  for (const auto &[name, us, self] : calls) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, arg(name));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(us));
    builder.set_call("Self (us)", OPD_METRIC_DURATION, arg(self));
  }
  const std::string page = page_of(builder.finish(), 1, 1, 1);
  EXPECT_NE(page.find("<p class=\"conclusion\">inner takes 75 % of the time</p>\n" + kBars +
                      bar("inner", "inner", "75.00", "75.00 µs · 75.0 %") +
                      bar("outer", "outer", "25.00", "25.00 µs · 25.0 %") +
                      bar("broken", "broken", "0.00", "0.00 µs · 0.0 %") + "</div>\n"),
            std::string::npos)
      << page;
}

TEST(ReportPage, WarnsOfMissingDataAndErrors) {
  const std::string page =
      page_of(Report::from_json(
                  R"-({"calls":[{"Name":{"string":"f"},"Error":{"string":"E: full"}},{"Error":{"string":"later"}}],)-"
                  R"-("configuration":{"Collector error: perf":{"string":"no counters"},)-"
                  R"-("Dropped calls":{"count":3},"Note":{"string":"n"},"Other":{"string":"o"}}})-"),
              1, 1, 1);
  EXPECT_NE(page.find("<h1>Where the time went</h1>\n<p class=\"warning\">collector perf failed: no counters</p>\n"
                      "<p class=\"warning\">3 calls found no room and have no row</p>\n<p class=\"warning\">n</p>\n"
                      "<p class=\"warning\">f failed: E: full</p>\n<p class=\"soft\">2 calls</p>\n"),
            std::string::npos)
      << page;
}

}  // namespace
