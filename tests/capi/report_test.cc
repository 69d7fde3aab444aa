// Reports through the C API: TVM's own output reproduced, aggregation, hostile JSON, locales.
#include "support/report_test.h"

#include <cmath>
#include <limits>
#include <locale>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using opdyno::check;
using opdyno::Value;
using opdyno_test::expect_error;
using opdyno_test::report_file;

struct Report : opdyno::Report {
  explicit Report(const std::string &json) { check(opd_report_from_json(json.data(), json.size(), out())); }
  using opdyno::Report::table;
  std::string table(int sort, int aggregate, int col_sums) const {
    opd_table_options options;
    opd_table_options_init(&options);
    options.sort = sort, options.aggregate = aggregate, options.col_sums = col_sums;
    return table(&options);
  }
  Value call(size_t row, const char *column) const { return opdyno_test::call_value(*this, row, column); }
  std::string call_text(size_t row, const char *column) const { return text_of(call(row, column)); }
  static std::string text_of(const Value &value) {
    const char *data = nullptr;
    size_t size = 0;
    check(opd_string_get(&value.view(), &data, &size));
    return std::string(data, size);
  }
};

// The code and message of a text that must not be read.
std::pair<opd_code, std::string> failure(const std::string &json) {
  opd_report *report = nullptr;
  opd_error *error = opd_report_from_json(json.data(), json.size(), &report);
  EXPECT_NE(error, nullptr) << json;
  EXPECT_EQ(report, nullptr);
  opd_report_release(report);
  std::pair<opd_code, std::string> out{opd_error_code(error), error ? opd_error_message(error) : ""};
  opd_error_release(error);
  return out;
}

std::string calls(const std::string &rows) { return "{\"calls\":[" + rows + "]}"; }
std::string call_row(const std::string &name, double us, const std::string &more = "") {
  return "{\"Name\":{\"string\":\"" + name + "\"},\"Duration (us)\":{\"microseconds\":" + std::to_string(us) + "}" +
         more + "}";
}
std::vector<std::string> first_words(const std::string &table, size_t count) {
  std::vector<std::string> words;
  std::istringstream lines(table);
  for (std::string line; words.size() < count && std::getline(lines, line);)
    words.push_back(line.substr(0, line.find(' ')));
  return words;
}

// ---- TVM's own output

TEST(Report, WritesTheTableThatTvmPrinted) {
  EXPECT_EQ(Report(report_file("sample.json")).table(), report_file("table.txt"));
}
TEST(Report, WritesTheTableInProgramOrderThatTvmPrinted) {
  EXPECT_EQ(Report(report_file("sample.json")).table(0, 0, 0), report_file("table_program_order.txt"));
}
TEST(Report, WritesTheCsvThatTvmPrinted) {
  EXPECT_EQ(Report(report_file("sample.json")).csv(), report_file("sample.csv"));
}
TEST(Report, WritesTheJsonThatTvmPrinted) {
  EXPECT_EQ(Report(report_file("sample.json")).json(), report_file("sample.json"));
}

TEST(Report, GivesItsMetrics) {
  const Report report(report_file("sample.json"));
  EXPECT_EQ(opd_report_call_count(report.get()), 13u);
  EXPECT_EQ(report.call_text(3, "Name"), "matmul");
  EXPECT_EQ(report.call(3, "Count").type(), OPD_INT);
  EXPECT_EQ(report.call(3, "Count").view().u.int64, 1);
  EXPECT_EQ(report.call(3, "Duration (us)").type(), OPD_FLOAT);
  EXPECT_EQ(report.call(3, "Duration (us)").view().u.float64, 1061.324);
  Value total, threads, executor;
  check(opd_report_get_device(report.get(), "cpu0", "Duration (us)", total.out()));
  EXPECT_EQ(total.view().u.float64, 1480.075);
  check(opd_report_get_configuration(report.get(), "Number of threads", threads.out()));
  EXPECT_EQ(threads.view().u.int64, 1);
  check(opd_report_get_configuration(report.get(), "Executor", executor.out()));
  EXPECT_EQ(Report::text_of(executor), "VM");
}

TEST(Report, SaysWhatItHasWhenAskedForWhatItHasNot) {
  const Report report(report_file("sample.json"));
  opd_value value = opd_int(77);
  expect_error(opd_report_get_call(report.get(), 13, "Name", &value), OPD_OUT_OF_RANGE, "13");
  expect_error(opd_report_get_call(report.get(), 0, "name", &value), OPD_NOT_FOUND, "Argument Shapes, Device, Name");
  expect_error(opd_report_get_device(report.get(), "cpu:0", "Count", &value), OPD_NOT_FOUND, "cpu0");
  expect_error(opd_report_get_device(report.get(), "cpu0", "Percent", &value), OPD_NOT_FOUND, "Duration (us)");
  expect_error(opd_report_get_configuration(report.get(), "Threads", &value), OPD_NOT_FOUND,
               "Number of threads, Executor");
  expect_error(opd_report_get_call(nullptr, 0, "Name", &value), OPD_INVALID_ARGUMENT, "NULL");
  EXPECT_EQ(value.u.int64, 77) << "an output was written on failure";
}

// ---- tables

TEST(Report, JoinsCallsOfOneOperatorWithEqualShapesOnOneDevice) {
  const std::string
      a = ",\"Argument Shapes\":{\"string\":\"float32[4]\"},\"Device\":{\"string\":\"cpu0\"},\"Count\":{\"count\":1},"
          "\"Percent\":{\"percent\":10.0},\"IPC\":{\"ratio\":",
      b = ",\"Argument Shapes\":{\"string\":\"float32[8]\"},\"Device\":{\"string\":\"cpu0\"},\"Count\":{\"count\":1},"
          "\"Percent\":{\"percent\":10.0},\"IPC\":{\"ratio\":";
  const Report report(calls(call_row("add", 1.5, a + "1.0}") + "," + call_row("add", 5, b + "4.0}") + "," +
                            call_row("add", 2.25, a + "2.0}")));
  // 1.5 + 2.25 = 3.75; ratios 1.0 and 2.0 average 1.5 and are not summed; 5 + 3.75 = 8.75; 3 × 10 % = 30 %.
  EXPECT_EQ(report.table(),
            "Name        Duration (us)  Percent  Device  Count  Argument Shapes  IPC  \n"
            "add                  5.00    10.00    cpu0      1       float32[8]    4  \n"
            "add                  3.75    20.00    cpu0      2       float32[4]  1.5  \n"
            "----------                                                               \n"
            "Sum                  8.75    30.00              3                        \n"
            "\nConfiguration\n-------------\n");
}

TEST(Report, JoinsByHashWhereThereIsOne) {
  const Report report(calls(call_row("a", 1, ",\"Hash\":{\"string\":\"h\"}") + "," +
                            call_row("b", 2, ",\"Hash\":{\"string\":\"h\"}") + "," + call_row("h", 4)));
  // The two of hash h make a row without a common name; the operator called h is another one.
  const std::string table = report.table(1, 1, 0);
  EXPECT_NE(table.find("\n               3.00"), std::string::npos) << table;
  EXPECT_NE(table.find("\nh              4.00"), std::string::npos) << table;
}

TEST(Report, KeepsTheOrderOfFirstAppearanceWithoutSorting) {
  const Report report(
      calls(call_row("b", 1) + "," + call_row("a", 9) + "," + call_row("b", 1) + "," + call_row("c", 3)));
  EXPECT_EQ(first_words(report.table(0, 1, 0), 4), (std::vector<std::string>{"Name", "b", "a", "c"}));
}

TEST(Report, SortsByDescendingDurationAndLeavesEqualOnesInOrder) {
  const Report report(calls(call_row("x", 1) + ",{\"Name\":{\"string\":\"none\"}}," + call_row("y", 2) + "," +
                            call_row("z", 1) +
                            ",{\"Name\":{\"string\":\"nan\"},\"Duration (us)\":{\"microseconds\":null}}"));
  EXPECT_EQ(first_words(report.table(1, 0, 0), 6), (std::vector<std::string>{"Name", "y", "x", "z", "none", "nan"}));
}

TEST(Report, DoesNotAddWhatCannotBeAdded) {
  const Report report(
      calls("{\"Name\":{\"string\":\"a\"},\"M\":{\"count\":1}},{\"Name\":{\"string\":\"a\"},\"M\":{\"percent\":2.0}},"
            "{\"Name\":{\"string\":\"a\"},\"M\":{\"count\":1}}"));
  EXPECT_NE(report.table().find("\na                                                                      \n"),
            std::string::npos)
      << report.table();
  EXPECT_NE(
      report.table(0, 0, 1).find("\nSum                                                                       \n"),
      std::string::npos)
      << report.table(0, 0, 1);
}

TEST(Report, SumsOfCountsStopAtTheirLargestValue) {
  const std::string row = "{\"Name\":{\"string\":\"a\"},\"Count\":{\"count\":9223372036854775807}}";
  const std::string table = Report(calls(row + "," + row)).table();
  EXPECT_NE(table.find("\nSum                                         9223372036854775807"), std::string::npos)
      << table;
}

TEST(Report, AlignsNamesByCodePoints) {
  const Report report(calls(call_row("größe", 1) + "," + call_row("groesse", 2)));
  const std::string table = report.table(1, 1, 0);
  EXPECT_NE(table.find("\ngroesse           2.00"), std::string::npos) << table;
  EXPECT_NE(table.find("\ngröße             1.00"), std::string::npos) << table;
}

TEST(Report, KeepsARowOnOneLine) {
  const Report report(calls("{\"Name\":{\"string\":\"two\\nlines\\u001b[31m\\u009b1mé\"}}"));
  EXPECT_NE(report.table().find("\ntwo lines [31m 1mé"), std::string::npos) << report.table();
}

TEST(Report, WritesTablesOfNothing) {
  EXPECT_EQ(Report("{\"calls\":[]}").table(),
            "Name        Duration (us)  Percent  Device  Count  Argument Shapes  \n"
            "----------                                                          \n"
            "Sum                                                                 \n"
            "\nConfiguration\n-------------\n");
  EXPECT_EQ(Report("{\"calls\":[]}").csv(), "\n");
  EXPECT_EQ(Report("{\"calls\":[]}").json(), "{\"calls\":[],\"device_metrics\":{},\"configuration\":{}}");
}

TEST(Report, RefusesTableOptionsItDoesNotKnow) {
  struct {
    opd_table_options known;
    int32_t newer;
  } options{};
  opd_table_options_init(&options.known);
  options.known.struct_size = sizeof options;
  options.newer = 1;
  const Report report("{\"calls\":[]}");
  opd_buffer *out = nullptr;
  expect_error(opd_report_to_table(report.get(), &options.known, &out), OPD_UNSUPPORTED, "does not know");
  EXPECT_EQ(out, nullptr);
}

TEST(Report, RefusesATableThatWouldBeFarLargerThanTheReport) {
  std::string rows;  // 20 000 rows, each with a metric of its own: 4 × 10^8 cells
  for (int i = 0; i < 20000; ++i) rows += (i ? ",{\"m" : "{\"m") + std::to_string(i) + "\":{\"count\":1}}";
  const Report report(calls(rows));
  opd_buffer *out = nullptr;
  opd_table_options options;
  opd_table_options_init(&options);
  options.aggregate = 0;
  expect_error(opd_report_to_table(report.get(), &options, &out), OPD_UNSUPPORTED, "columns");
  expect_error(opd_report_to_csv(report.get(), &out), OPD_UNSUPPORTED, "columns");
  EXPECT_EQ(report.json(), "{\"calls\":[" + rows + "],\"device_metrics\":{},\"configuration\":{}}");
  EXPECT_EQ(report.call(19999, "m19999").view().u.int64, 1);
  EXPECT_EQ(report.call(19999, "m19998").type(), OPD_NONE);
}

// ---- CSV

TEST(Report, QuotesTextInCsv) {
  const Report report(calls(
      "{\"Name\":{\"string\":\"say \\\"hi\\\", you\"},\"a,b\":{\"count\":1}},{\"z\":{\"ratio\":0.0000123456789}}"));
  EXPECT_EQ(report.csv(), "Name,\"a,b\",z\n\"say \"\"hi\"\", you\",1,\n,,1.23457e-05\n");
}

// ---- JSON

TEST(Report, KeepsCountsOf64Bits) {
  const Report report(
      calls("{\"a\":{\"count\":9007199254740993},\"b\":{\"count\":-9223372036854775808},\"c\":{\"count\":"
            "9223372036854775807}}"));
  EXPECT_EQ(report.call(0, "a").view().u.int64, (int64_t{1} << 53) + 1);
  EXPECT_EQ(report.call(0, "b").view().u.int64, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(report.call(0, "c").view().u.int64, std::numeric_limits<int64_t>::max());
  EXPECT_NE(report.json().find("\"a\":{\"count\":9007199254740993},\"b\":{\"count\":-9223372036854775808}"),
            std::string::npos);
  EXPECT_NE(failure(calls("{\"a\":{\"count\":9223372036854775808}}")).second.find("offset 16"), std::string::npos);
  EXPECT_EQ(failure(calls("{\"a\":{\"count\":1.5}}")).first, OPD_BAD_FORMAT);
}

TEST(Report, KeepsNumbersOfAnySize) {
  for (const double number : {0.0, -0.0, 1e-300, 5e-324, 3e-7, 1.7976931348623157e308, 1e45, 123456789.125, -2.5}) {
    char text[64];
    snprintf(text, sizeof text, "%.17g", number);
    const Report report(calls("{\"x\":{\"ratio\":" + std::string(text) + "}}"));
    EXPECT_EQ(report.call(0, "x").view().u.float64, number);
    EXPECT_EQ(Report(report.json()).call(0, "x").view().u.float64, number) << report.json();
  }
}

TEST(Report, KeepsWhatIsNotANumber) {
  const Report report(calls(
      "{\"x\":{\"percent\":null},\"y\":{\"microseconds\":1e999},\"z\":{\"ratio\":-1e999},\"t\":{\"ratio\":1e-999},"
      "\"u\":{\"ratio\":0." +
      std::string(400, '0') + "1e5},\"v\":{\"ratio\":1" + std::string(400, '0') + "}}"));
  const Report again(report.json());
  for (const Report *r : {&report, &again}) {
    EXPECT_TRUE(std::isnan(r->call(0, "x").view().u.float64));
    EXPECT_EQ(r->call(0, "y").view().u.float64, std::numeric_limits<double>::infinity());
    EXPECT_EQ(r->call(0, "z").view().u.float64, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(r->call(0, "t").view().u.float64, 0);
    EXPECT_EQ(r->call(0, "u").view().u.float64, 0);
    EXPECT_EQ(r->call(0, "v").view().u.float64, std::numeric_limits<double>::infinity());
  }
  EXPECT_NE(report.table().find("nan"), std::string::npos);
}

TEST(Report, KeepsWhatNewerWritersAdd) {
  const std::string json =
      "{\"calls\":[{\"Name\":{\"string\":\"a\"},\"Memory\":{\"bytes\":18446744073709551615}}],\"device_metrics\":{},"
      "\"configuration\":{\"Host\":{\"labels\":[\"x\",{\"y\":null}]}},\"schema\":{\"version\":12345678901234567890,"
      "\"tags\":[true,false,[],{}]},"
      "\"note\":\"\\u0000 kept\"}";
  const Report report(json);
  EXPECT_EQ(report.json(), json);
  EXPECT_EQ(report.call_text(0, "Memory"), "{\"bytes\":18446744073709551615}");
  EXPECT_NE(report.csv().find("\"{\"\"bytes\"\":18446744073709551615}\""), std::string::npos);
}

TEST(Report, ReadsSectionsInAnyOrderAndAnyLayout) {
  const Report report(
      "\xEF\xBB\xBF { \"configuration\" : { } ,\n\t\"device_metrics\":{\"cpu0\":{}},\r\n \"calls\" : [ { } ] } \n");
  EXPECT_EQ(report.json(), "{\"calls\":[{}],\"device_metrics\":{\"cpu0\":{}},\"configuration\":{}}");
}

TEST(Report, DecodesEscapes) {
  const Report report(
      calls("{\"\\u004eame\":{\"string\":\"\\\"\\\\\\/"
            "\\b\\f\\n\\r\\t\\u00e4\\u20AC\\ud83d\\ude00\"},\"lone\":{\"string\":\"\\ud83d!\"}}"));
  EXPECT_EQ(report.call_text(0, "Name"), "\"\\/\b\f\n\r\t\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(report.call_text(0, "lone"), "\xEF\xBF\xBD!");
}

TEST(Report, GivesTheOffsetOfMalformedJson) {
  const struct {
    std::string json;
    size_t offset;
  } cases[] = {
      {"", 0},
      {"[]x", 2},
      {"{\"calls\":[}", 10},
      {"{\"calls\":[{]}", 11},
      {"{\"calls\" []}", 9},
      {"{\"calls\":[],}", 12},
      {"{\"calls\":[{\"a\":{\"count\":01}}]}", 24},
      {"{\"calls\":[{\"a\":{\"count\":1.}}]}", 24},
      {"{\"calls\":[{\"a\":{\"count\":-}}]}", 24},
      {"{\"calls\":[{\"a\":{\"ratio\":1e}}]}", 24},
      {"{\"calls\":[{\"a\":{\"count\":nan}}]}", 24},
      {"{\"calls\":[{\"a\":{\"string\":\"x}}]}", 25},
      {"{\"calls\":[{\"a\":{\"string\":\"x\ny\"}}]}", 27},
      {"{\"calls\":[{\"a\":{\"string\":\"\\q\"}}]}", 26},
      {"{\"calls\":[{\"a\":{\"string\":\"\\u12g4\"}}]}", 26},
      {std::string("{\"calls\":[]}\0", 13), 12},
      // well-formed, but not a report
      {"[]", 2},
      {"{\"traceEvents\":[]}", 1},
      {"{\"calls\":{}}", 1},
      {"{\"calls\":[],\"calls\":[]}", 12},
      {"{\"calls\":[{\"a\":{\"count\":1},\"a\":{\"count\":2}}]}", 27},
      {"{\"calls\":[{\"a\":5}]}", 11},
      {"{\"calls\":[{\"a\":{}}]}", 11},
      {"{\"calls\":[{\"a\":{\"count\":1,\"ratio\":2}}]}", 11},
      {"{\"calls\":[{\"a\":{\"count\":\"1\"}}]}", 16},
      {"{\"calls\":[{\"a\":{\"count\":null}}]}", 16},
      {"{\"calls\":[{\"a\":{\"string\":1}}]}", 16},
      {"{\"calls\":[7]}", 10},
      {"{\"calls\":[],\"device_metrics\":{\"cpu0\":[]}}", 30},
      {"{\"calls\":[],\"device_metrics\":{\"cpu0\":{},\"cpu0\":{}}}", 40},
      {"{\"calls\":[],\"configuration\":{\"a\":{\"count\":1},\"a\":{\"count\":1}}}", 45},
  };
  for (const auto &test : cases) {
    const auto [code, message] = failure(test.json);
    EXPECT_EQ(code, OPD_BAD_FORMAT) << test.json;
    EXPECT_NE((message + " ").find("offset " + std::to_string(test.offset) + " "), std::string::npos)
        << test.json << "\n"
        << message;
  }
}

TEST(Report, RefusesDeepNesting) {
  const std::string deep = "{\"calls\":[],\"x\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_NE(failure(deep).second.find("deeper"), std::string::npos);
  const std::string fine = "{\"calls\":[],\"device_metrics\":{},\"configuration\":{},\"x\":" + std::string(99, '[') +
                           std::string(99, ']') + "}";
  EXPECT_EQ(Report(fine).json(), fine);
}

TEST(Report, RefusesEveryTruncationOfItsJson) {
  const std::string json = report_file("sample.json");
  for (size_t size = 0; size < json.size(); ++size)
    EXPECT_EQ(failure(json.substr(0, size)).first, OPD_BAD_FORMAT) << size;
}

TEST(Report, BringsAnyNameThroughARoundTrip) {
  std::mt19937 random(20240607);
  const auto quoted = [](const std::string &bytes) {  // the bytes as they are where JSON allows that
    std::string out = "\"";
    for (const char c : bytes) {
      char escape[8];
      snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(c));
      if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') out += escape;
      else out += c;
    }
    return out + "\"";
  };
  for (int i = 0; i < 300; ++i) {
    std::string bytes(random() % 40, '\0');  // every ASCII character, NUL included
    for (char &c : bytes) c = static_cast<char>(random() & 0x7F);
    if (i % 3 == 0) bytes += "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
    const Report report(
        calls("{\"Name\":{\"string\":" + quoted(bytes) + "}," + quoted("k" + bytes) + ":{\"count\":1}}"));
    EXPECT_EQ(report.call_text(0, "Name"), bytes);
    const Report again(report.json());
    EXPECT_EQ(again.call_text(0, "Name"), bytes) << i;
    EXPECT_EQ(again.json(), report.json());
    EXPECT_FALSE(report.table().empty());
    EXPECT_FALSE(report.csv().empty());
  }
}

TEST(Report, RefusesWhatIsNotUtf8AndNumbersThatRunIntoEachOther) {
  opd_report *report = nullptr;
  for (const auto &[json, part] :
       {std::pair<std::string, const char *>{"{\"calls\":[],\"\xB3\":1}", "offset 13 is not UTF-8"},
        {"{\"calls\":[],\"x\":1-80.07}", "offset 17 follows a number without a comma"}})
    opdyno_test::expect_error(opd_report_from_json(json.data(), json.size(), &report), OPD_BAD_FORMAT, part);
}

TEST(Report, CanBeReadFromManyThreads) {
  const std::string json = report_file("sample.json"), table = report_file("table.txt");
  const Report shared(json);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(shared.json(), json);
        EXPECT_EQ(Report(json).table(), table);
        EXPECT_EQ(shared.call_text(0, "Name"), "vm.builtin.check_tensor_info");
      }
    });
  for (auto &thread : threads) thread.join();
}

// ---- locales

struct Grouped : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Report, IsTheSameUnderEveryLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouped));
  const char *c_before = setlocale(LC_ALL, nullptr);
  const std::string saved = c_before ? c_before : "C";
  for (const char *name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C"})  // those that the machine has
    if (setlocale(LC_ALL, name)) break;
  const Report report(report_file("sample.json"));
  EXPECT_EQ(report.table(), report_file("table.txt"));
  EXPECT_EQ(report.csv(), report_file("sample.csv"));
  EXPECT_EQ(report.json(), report_file("sample.json"));
  setlocale(LC_ALL, saved.c_str());
  std::locale::global(before);
}

}  // namespace

TEST(Report, ListsItsColumnsDevicesAndConfiguration) {
  const std::string json = R"({"calls":[{"Name":{"string":"a"},"Count":{"count":1}},{"Hash":{"string":"h"}}],)"
                           R"("device_metrics":{"cpu0":{},"cuda1":{}},"configuration":{"Executor":{"string":"VM"}}})";
  opdyno::Report report;
  opdyno::check(opd_report_from_json(json.data(), json.size(), report.out()));
  const auto listed = [&](opd_error *(*list)(const opd_report *, opd_array **)) {
    opdyno::Handle<opd_array> names;
    opdyno::check(list(report.get(), names.out()));
    return opdyno::Value::retain(opdyno::arg(names)).to_string();
  };
  EXPECT_EQ(listed(opd_report_list_columns), R"(["Name", "Count", "Hash"])");
  EXPECT_EQ(listed(opd_report_list_devices), R"(["cpu0", "cuda1"])");
  EXPECT_EQ(listed(opd_report_list_configuration), R"(["Executor"])");
}
