// How cells of several calls become one, column by column, and which rows a sum counts.
#include "support/report_rows.h"

namespace {

using namespace report_rows;

using Row = std::vector<std::string>;

// The rows of the Markdown table: cells without blanks around them, the header first.
std::vector<Row> rows_of(const std::string &markdown) {
  std::vector<Row> rows;
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line) && line.starts_with("|");) {
    Row row;
    std::istringstream cells(line.substr(1));
    for (std::string cell; std::getline(cells, cell, '|');) {
      const size_t begin = cell.find_first_not_of(' ');
      row.push_back(begin == std::string::npos ? "" : cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin));
    }
    rows.push_back(row);
  }
  rows.erase(rows.begin() + 1);  // the line below the header
  return rows;
}

struct Joined {
  std::vector<Row> rows;

  explicit Joined(const std::string &calls_text, bool aggregate = true) {
    opd_report_write_options options;
    opd_report_write_options_init(&options);
    options.sort = 0, options.aggregate = aggregate, options.col_sums = 1;
    rows = rows_of(JsonReport(calls(calls_text)).markdown(&options));
  }
  bool has(const std::string &column) const { return std::count(rows[0].begin(), rows[0].end(), column) > 0; }
  std::string cell(size_t row, const std::string &column) const {
    const auto found = std::find(rows[0].begin(), rows[0].end(), column);
    return found == rows[0].end() ? "no column" : rows[row + 1][static_cast<size_t>(found - rows[0].begin())];
  }
  size_t count() const { return rows.size() - 2; }  // without the header and the sums
  std::string sum(const std::string &column) const { return cell(count(), column); }
};

// Calls of "a" that have these cells in a column, "" for none.
std::string column_of(const std::string &name, const std::vector<std::string> &cells) {
  std::string out;
  for (const std::string &cell : cells)
    out += (out.empty() ? "" : ",") +
           ("{\"Name\":{\"string\":\"a\"}" + (cell.empty() ? "" : ",\"" + name + "\":" + cell)) + "}";
  return out;
}

std::string count_cell(int64_t number) { return "{\"count\":" + std::to_string(number) + "}"; }
std::string ratio(const std::string &number) { return "{\"ratio\":" + number + "}"; }
std::string us(const std::string &number) { return "{\"microseconds\":" + number + "}"; }
std::string percent(const std::string &number) { return "{\"percent\":" + number + "}"; }
std::string text_cell(const std::string &words) { return "{\"string\":\"" + words + "\"}"; }

TEST(ReportJoin, JoinsCellsAsTheirColumnRequires) {
  const struct {
    const char *column;
    std::vector<std::string> cells;
    const char *joined, *sum;
  } cases[] = {
      {"n", {count_cell(3), count_cell(-1), count_cell(5)}, "7", "7"},
      {"n", {"", count_cell(3), ""}, "3", "3"},
      {"n", {count_cell(INT64_MAX), count_cell(1), count_cell(0)}, "9223372036854775807", "9223372036854775807"},
      {"n", {count_cell(INT64_MIN), count_cell(-1), count_cell(0)}, "\\-9223372036854775808", "\\-9223372036854775808"},
      {"n (bytes)", {count_cell(3), count_cell(4)}, "7", "7"},
      {"t (us)", {us("1.5"), us("2.25")}, "3.75", "3.75"},
      {"p", {percent("10"), percent("12.5")}, "22.50", "22.50"},
      {"r", {ratio("1"), ratio("2"), ratio("6")}, "3", ""},
      {"r", {ratio("4"), "", ratio("6")}, "5", ""},
      {"c (Hz)", {ratio("1e6"), ratio("2e6"), ratio("6e6")}, "3e+06", ""},
      {"s", {text_cell("x"), text_cell("x"), text_cell("x")}, "x", ""},
      {"s", {text_cell("x"), text_cell("x"), text_cell("y")}, "", ""},
      {"s", {text_cell("x"), text_cell("y"), text_cell("x")}, "", ""},
      {"s", {text_cell("x"), "", text_cell("x")}, "x", ""},
      {"m", {count_cell(1), ratio("2"), count_cell(1)}, "", ""},
      {"m", {count_cell(1), us("2")}, "", ""},
      {"m", {text_cell("x"), count_cell(2)}, "", ""},
      {"Min (us)", {us("3"), us("1"), us("2")}, "1.00", ""},
      {"Max (us)", {us("1"), us("3"), us("2")}, "3.00", "3.00"},
      {"Min (us)", {count_cell(3), count_cell(1), count_cell(2)}, "1", ""},
      {"Peak (bytes)", {count_cell(5), count_cell(9), count_cell(7)}, "9", "9"},
      {"Median (us)", {us("1"), us("1")}, "1.00", ""},
      {"Median (us)", {us("1"), us("2")}, "", ""},
      {"Start (us)", {us("1"), us("2")}, "", ""},
      {"Run", {count_cell(1), count_cell(1)}, "1", ""},
      {"Thread ID", {count_cell(1), count_cell(2)}, "", ""},
      {"Stream", {count_cell(4), count_cell(4)}, "4", ""},
      {"Launch Thread ID", {count_cell(1), count_cell(2)}, "", ""},
      {"Launched In", {text_cell("f"), text_cell("f")}, "f", ""},
      {"FLOP", {count_cell(1), count_cell(2)}, "3", "3"},
      {"Tensors (bytes)", {count_cell(1), count_cell(2)}, "3", "3"},
  };
  for (const auto &test : cases) {
    const Joined got(column_of(test.column, test.cells));
    std::string what = test.column;
    for (const std::string &cell : test.cells) what += " " + cell;
    EXPECT_EQ(got.count(), 1u) << what;
    EXPECT_EQ(got.cell(0, test.column), test.joined) << what;
    EXPECT_EQ(got.sum(test.column), test.sum) << what;
  }
}

TEST(ReportJoin, LeavesOtherCallsAsTheyAre) {
  const auto call = [](const char *name, const std::string &more) { return call_row(name, 1, "," + more); };
  const Joined got(call("a", "\"m\":" + count_cell(1) + ",\"r\":" + ratio("2")) + "," +
                   call("b", "\"m\":" + count_cell(5) + ",\"r\":" + ratio("3")) + "," +
                   call("a", "\"m\":" + ratio("1") + ",\"r\":" + ratio("4")) + "," +
                   call("b", "\"m\":" + count_cell(6) + ",\"r\":" + ratio("4")) + "," +
                   call("b", "\"m\":" + count_cell(7) + ",\"r\":" + ratio("8")));
  ASSERT_EQ(got.count(), 2u);
  EXPECT_EQ(got.cell(0, "m"), "") << "a count and a ratio have nothing in common";
  EXPECT_EQ(got.cell(1, "m"), "18");
  EXPECT_EQ(got.cell(0, "r"), "3");
  EXPECT_EQ(got.cell(1, "r"), "5");
}

// Without "FLOP", a call's work is its rate multiplied by its time. 2 GFLOP/s for 1 µs and 4 for 3 µs are 14 in 4 µs.
TEST(ReportJoin, GivesTheRateOfTheWhole) {
  const auto call = [](double time, const std::string &more) { return call_row("a", time, more); };
  const std::string rate = ",\"GFLOP/s\":", flop = ",\"FLOP\":", share = ",\"Percent of Peak\":";
  EXPECT_EQ(Joined(call(1, rate + ratio("2")) + "," + call(3, rate + ratio("4"))).cell(0, "GFLOP/s"), "3.5");
  EXPECT_EQ(Joined(call(1, rate + ratio("2")) + "," + call(3, rate + ratio("4"))).sum("GFLOP/s"), "3.5");
  EXPECT_EQ(Joined(call(1, rate + ratio("2") + flop + count_cell(8000)) + "," +
                   call(3, rate + ratio("4") + flop + count_cell(0)))
                .cell(0, "GFLOP/s"),
            "2")
      << "what was counted, not what the rates say: 8000 in 4 µs";
  EXPECT_EQ(Joined(call(1, rate + ratio("2")) + "," + call(3, flop + count_cell(4000))).cell(0, "GFLOP/s"), "1.5")
      << "2000 and 4000 in 4 µs";
  EXPECT_EQ(Joined(call(0, rate + ratio("2")) + "," + call(0, rate + ratio("4"))).cell(0, "GFLOP/s"), "");
  EXPECT_EQ(Joined(call(1, share + percent("20")) + "," + call(3, share + percent("40"))).cell(0, "Percent of Peak"),
            "35.00");
  EXPECT_EQ(Joined(call(1, rate + text_cell("fast")) + "," + call(3, rate + text_cell("fast"))).cell(0, "GFLOP/s"),
            "fast");
}

TEST(ReportJoin, KeepsARateOfAnUnknownWholeIfAllAgree) {
  const char *const rates[] = {"GFLOP/s", "Arithmetic Intensity (FLOP/byte)", "Percent of Peak"};
  for (const char *rate : rates) {
    const Joined equal(column_of(rate, {ratio("2"), ratio("2")})), different(column_of(rate, {ratio("2"), ratio("5")}));
    EXPECT_EQ(equal.cell(0, rate), "2");
    EXPECT_EQ(equal.sum(rate), "2");
    EXPECT_EQ(different.cell(0, rate), "") << "not 7, and 3.5 only if both took equally long";
    EXPECT_EQ(different.sum(rate), "");
  }
}

TEST(ReportJoin, IsOfCallsThatAgreeInNameShapesDeviceAndHash) {
  const auto call = [](const char *name, const char *shapes, const char *device, const char *hash) {
    return std::string("{\"Name\":") + text_cell(name) + ",\"Argument Shapes\":" + text_cell(shapes) +
           ",\"Device\":" + text_cell(device) + (*hash ? ",\"Hash\":" + text_cell(hash) : "") +
           ",\"n\":" + count_cell(1) + "}";
  };
  const Joined got(call("a", "f[2]", "cpu0", "") + "," + call("a", "f[3]", "cpu0", "") + "," +
                   call("a", "f[2]", "cuda0", "") + "," + call("b", "f[2]", "cpu0", "") + "," +
                   call("a", "f[2]", "cpu0", "h") + "," + call("b", "f[2]", "cpu0", "h") + "," +
                   call("a", "f[2]", "cpu0", "") + "," + call("a", "f[2]", "cpu0", "i"));
  ASSERT_EQ(got.count(), 6u);
  const char *const expected[] = {"2", "1", "1", "1", "2", "1"};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(got.cell(i, "n"), expected[i]) << i;
  EXPECT_EQ(got.cell(2, "Device"), "cuda0");
  EXPECT_EQ(got.cell(4, "Name"), "") << "a and b";
  EXPECT_EQ(got.sum("n"), "8");
  const Joined whole(call("a", "f[2]", "cpu0", "") + "," + call("a", "f[2]", "cpu0", ""), false);
  EXPECT_EQ(whole.count(), 2u);
}

// The spread of joined calls is not shown if the report has such a column, no durations, or no joined calls.
TEST(ReportJoin, HasASpreadOfItsOwnOnlyOfJoinedDurations) {
  const std::string two = call_row("a", 1) + "," + call_row("a", 3);
  EXPECT_EQ(Joined(two).cell(0, "Median (us)"), "2.00");
  EXPECT_EQ(Joined(two).sum("Median (us)"), "");
  EXPECT_FALSE(Joined(two, false).has("Median (us)"));
  EXPECT_FALSE(Joined(call_row("a", 1) + "," + call_row("b", 3)).has("Min (us)"));
  EXPECT_FALSE(Joined(column_of("n", {count_cell(1), count_cell(2)})).has("Max (us)"));
  for (const char *own : {"Median (us)", "Min (us)", "Max (us)"}) {
    const Joined got(call_row("a", 1, std::string(",\"") + own + "\":" + us("7")) + "," + call_row("a", 3));
    EXPECT_EQ(got.cell(0, own), "7.00");
    for (const char *other : {"Median (us)", "Min (us)", "Max (us)"})
      if (std::string(own) != other) { EXPECT_FALSE(got.has(other)) << own << " " << other; }
  }
}

// What a device did is in the row of the work and in that of the call that gave it to the device: it counts once.
TEST(ReportSums, CountTheWorkOfDevicesOnce) {
  const auto row = [](const char *name, const char *kind, int device_us) {
    return call_row(name, 1,
                    std::string(*kind ? ",\"Kind\":" + text_cell(kind) : "") + ",\"Device Duration (us)\":" +
                        us(std::to_string(device_us)) + ",\"Self Device Duration (us)\":" + us("1"));
  };
  const Joined works(row("launch", "", 7) + "," + row("launch", "range", 9) + "," + row("kernel", "device", 7));
  EXPECT_EQ(works.sum("Device Duration (us)"), "7.00");
  EXPECT_EQ(works.sum("Self Device Duration (us)"), "1.00");
  EXPECT_EQ(works.sum("Duration (us)"), "3.00");
  const Joined calls_alone(row("launch", "", 7) + "," + row("launch", "range", 9));
  EXPECT_EQ(calls_alone.sum("Device Duration (us)"), "16.00");
  EXPECT_EQ(calls_alone.sum("Self Device Duration (us)"), "2.00");
  EXPECT_EQ(Joined(call_row("a", 1, ",\"Kind\":" + text_cell("device"))).sum("Duration (us)"), "1.00");
}

TEST(ReportSums, LeaveOutCallsWithinOthers) {
  const auto row = [](const char *name, const std::string &depth) {
    return call_row(name, 4,
                    ",\"Count\":" + count_cell(1) + ",\"Self (us)\":" + us("3") + ",\"n\":" + count_cell(5) +
                        (depth.empty() ? "" : ",\"Depth\":" + depth));
  };
  const Joined got(row("a", "") + "," + row("b", count_cell(0)) + "," + row("c", count_cell(1)) + "," +
                   row("d", ratio("1")));
  EXPECT_EQ(got.sum("Duration (us)"), "12.00");
  EXPECT_EQ(got.sum("n"), "15");
  EXPECT_EQ(got.sum("Count"), "4") << "each call counts";
  EXPECT_EQ(got.sum("Self (us)"), "12.00");
  EXPECT_FALSE(got.has("Depth"));
}

}  // namespace
