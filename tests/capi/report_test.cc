// Reports through the C API: TVM's own output reproduced, hostile JSON, locales.
#include <cmath>
#include <limits>
#include <locale>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/report_rows.h"

namespace {

using namespace report_rows;
using opdyno_test::expect_error;
using opdyno_test::report_file;

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

// ---- TVM's own output

TEST(Report, WritesTheTableThatTvmPrinted) {
  EXPECT_EQ(JsonReport(report_file("sample.json")).table(), report_file("table.txt"));
}
TEST(Report, WritesTheTableInProgramOrderThatTvmPrinted) {
  EXPECT_EQ(JsonReport(report_file("sample.json")).table(0, 0, 0), report_file("table_program_order.txt"));
}
TEST(Report, WritesTheCsvThatTvmPrinted) {
  EXPECT_EQ(JsonReport(report_file("sample.json")).csv(), report_file("sample.csv"));
}
TEST(Report, WritesTheJsonThatTvmPrinted) {
  EXPECT_EQ(JsonReport(report_file("sample.json")).json(), report_file("sample.json"));
}

TEST(Report, GivesItsMetrics) {
  const JsonReport report(report_file("sample.json"));
  EXPECT_EQ(opd_report_call_count(report.get()), 13);
  EXPECT_EQ(report.call_text(3, "Name"), "matmul");
  EXPECT_EQ(report.call(3, "Count").type(), OPD_INT);
  EXPECT_EQ(report.call(3, "Count").view().u.int64, 1);
  EXPECT_EQ(report.call(3, "Duration (us)").type(), OPD_FLOAT);
  EXPECT_EQ(report.call(3, "Duration (us)").view().u.float64, 1061.324);
  Value total, threads, executor;
  check(opd_report_get(report.get(), OPD_REPORT_DEVICES, 0, "Duration (us)", total.out(), nullptr));
  EXPECT_EQ(total.view().u.float64, 1480.075);
  check(opd_report_get(report.get(), OPD_REPORT_CONFIGURATION, 0, "Number of threads", threads.out(), nullptr));
  EXPECT_EQ(threads.view().u.int64, 1);
  check(opd_report_get(report.get(), OPD_REPORT_CONFIGURATION, 0, "Executor", executor.out(), nullptr));
  EXPECT_EQ(opdyno_test::text_value(executor), "VM");
}

TEST(Report, ErrorsForUnknownRowsAndColumnsNameTheKnownOnes) {
  const JsonReport report(report_file("sample.json"));
  opd_value value = opd_int(77);
  expect_error(opd_report_get(report.get(), OPD_REPORT_CALLS, 13, "Name", &value, nullptr), OPD_OUT_OF_RANGE, "13");
  for (const auto section : {OPD_REPORT_CALLS, OPD_REPORT_DEVICES, OPD_REPORT_CONFIGURATION})
    expect_error(opd_report_get(report.get(), section, -1, "Name", &value, nullptr), OPD_OUT_OF_RANGE,
                 "row must be >= 0, but is -1");
  expect_error(opd_report_get(report.get(), OPD_REPORT_CALLS, 0, "name", &value, nullptr), OPD_NOT_FOUND,
               "Argument Shapes, Device, Name");
  expect_error(opd_report_get(report.get(), OPD_REPORT_DEVICES, 1, "Count", &value, nullptr), OPD_OUT_OF_RANGE,
               "row must be below 1, but is 1");
  expect_error(opd_report_get(report.get(), OPD_REPORT_DEVICES, 0, "Percent", &value, nullptr), OPD_NOT_FOUND,
               "Duration (us)");
  expect_error(opd_report_get(report.get(), OPD_REPORT_CONFIGURATION, 0, "Threads", &value, nullptr), OPD_NOT_FOUND,
               "Number of threads, Executor");
  expect_error(opd_report_get(nullptr, OPD_REPORT_CALLS, 0, "Name", &value, nullptr), OPD_INVALID_ARGUMENT, "NULL");
  EXPECT_EQ(value.u.int64, 77) << "an output was written on failure";
}

// ---- CSV

TEST(Report, QuotesTextInCsv) {
  const JsonReport report(calls(
      "{\"Name\":{\"string\":\"say \\\"hi\\\", you\"},\"a,b\":{\"count\":1}},{\"z\":{\"ratio\":0.0000123456789}}"));
  EXPECT_EQ(report.csv(), "Name,\"a,b\",z\n\"say \"\"hi\"\", you\",1,\n,,1.23457e-05\n");
}

// ---- JSON

TEST(Report, KeepsCountsOf64Bits) {
  const JsonReport report(
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
    const JsonReport report(calls("{\"x\":{\"ratio\":" + std::string(text) + "}}"));
    EXPECT_EQ(report.call(0, "x").view().u.float64, number);
    EXPECT_EQ(JsonReport(report.json()).call(0, "x").view().u.float64, number) << report.json();
  }
}

TEST(Report, KeepsNanAndInfinity) {
  const JsonReport report(calls(
      "{\"x\":{\"percent\":null},\"y\":{\"microseconds\":1e999},\"z\":{\"ratio\":-1e999},\"t\":{\"ratio\":1e-999},"
      "\"u\":{\"ratio\":0." +
      std::string(400, '0') + "1e5},\"v\":{\"ratio\":1" + std::string(400, '0') + "}}"));
  const JsonReport again(report.json());
  for (const JsonReport *r : {&report, &again}) {
    EXPECT_TRUE(std::isnan(r->call(0, "x").view().u.float64));
    EXPECT_EQ(r->call(0, "y").view().u.float64, std::numeric_limits<double>::infinity());
    EXPECT_EQ(r->call(0, "z").view().u.float64, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(r->call(0, "t").view().u.float64, 0);
    EXPECT_EQ(r->call(0, "u").view().u.float64, 0);
    EXPECT_EQ(r->call(0, "v").view().u.float64, std::numeric_limits<double>::infinity());
  }
  EXPECT_NE(report.table().find("nan"), std::string::npos);
}

TEST(Report, KeepsUnknownMetricsOfNewerWriters) {
  const std::string json =
      "{\"calls\":[{\"Name\":{\"string\":\"a\"},\"Memory\":{\"bytes\":18446744073709551615}}],\"device_metrics\":{},"
      "\"configuration\":{\"Host\":{\"labels\":[\"x\",{\"y\":null}]}},\"schema\":{\"version\":12345678901234567890,"
      "\"tags\":[true,false,[],{}]},"
      "\"note\":\"\\u0000 kept\"}";
  const JsonReport report(json);
  EXPECT_EQ(report.json(), json);
  EXPECT_EQ(report.call_text(0, "Memory"), "{\"bytes\":18446744073709551615}");
  EXPECT_NE(report.csv().find("\"{\"\"bytes\"\":18446744073709551615}\""), std::string::npos);
}

TEST(Report, ReadsSectionsInAnyOrderAndAnyLayout) {
  const JsonReport report(
      "\xEF\xBB\xBF { \"configuration\" : { } ,\n\t\"device_metrics\":{\"cpu0\":{}},\r\n \"calls\" : [ { } ] } \n");
  EXPECT_EQ(report.json(), "{\"calls\":[{}],\"device_metrics\":{\"cpu0\":{}},\"configuration\":{}}");
}

TEST(Report, DecodesEscapes) {
  const JsonReport report(
      calls("{\"\\u004eame\":{\"string\":\"\\\"\\\\\\/"
            "\\b\\f\\n\\r\\t\\u00e4\\u20AC\\ud83d\\ude00\"},\"lone\":{\"string\":\"\\ud83d!\"},"
            "\"edge\":{\"string\":\"\\uffff\\ud800\\udc00\"}}"));
  EXPECT_EQ(report.call_text(0, "edge"), "\xEF\xBF\xBF\xF0\x90\x80\x80");
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

TEST(Report, NamesTheProblemOfItsJson) {
  const std::pair<const char *, const char *> cases[] = {
      {"[]", "is not an object: a report is expected"},
      {"{\"traceEvents\":[]}", "is not a report: it lacks \"calls\""},
      {"{\"calls\":{}}", "must hold an array of calls"},
      {"{\"calls\":[7]}", "is not an object, as a call must be"},
      {"{\"calls\":[{\"a\":5}]}", "must hold one metric, as {\"count\":1}"},
      {"{\"calls\":[{\"a\":{\"count\":1,\"ratio\":2}}]}", "must hold one metric, as {\"count\":1}"},
      {"{\"calls\":[{\"a\":{\"count\":null}}]}", "must have a number as its value"},
      {"{\"calls\":[{\"a\":{\"string\":1}}]}", "must have a string as its value"},
      {"{\"calls\":[],\"configuration\":[]}", "is not an object, as the configuration must be"},
      {"{\"calls\":[],\"device_metrics\":[]}", "is not an object, as device_metrics must be"},
      {"{\"calls\":[],\"device_metrics\":{\"cpu0\":[]}}", "is not an object, as a device must be"},
      {"{\"calls\":[],\"device_metrics\":{\"cpu0\":{\"a\":{\"count\":1},\"a\":{\"count\":1}}}}",
       "repeats the key \"a\""},
      {"{\"calls\":[],\"x\":1,\"x\":1}", "repeats the key \"x\""},
  };
  for (const auto &[json, part] : cases)
    EXPECT_NE(failure(json).second.find(part), std::string::npos) << json << "\n" << failure(json).second;
  const auto sections = [](int count) {
    std::string json = "{\"calls\":[]";
    for (int i = 1; i < count; ++i) json += ",\"s" + std::to_string(i) + "\":1";
    return json + "}";
  };
  EXPECT_EQ(opd_report_call_count(JsonReport(sections(1000)).get()), 0);
  EXPECT_NE(failure(sections(1001)).second.find("is one of more than 1000 sections"), std::string::npos);
}

TEST(Report, RefusesDeepNesting) {
  const std::string deep = "{\"calls\":[],\"x\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_NE(failure(deep).second.find("deeper"), std::string::npos);
  const std::string fine = "{\"calls\":[],\"device_metrics\":{},\"configuration\":{},\"x\":" + std::string(99, '[') +
                           std::string(99, ']') + "}";
  EXPECT_EQ(JsonReport(fine).json(), fine);
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
    const JsonReport report(
        calls("{\"Name\":{\"string\":" + quoted(bytes) + "}," + quoted("k" + bytes) + ":{\"count\":1}}"));
    EXPECT_EQ(report.call_text(0, "Name"), bytes);
    const JsonReport again(report.json());
    EXPECT_EQ(again.call_text(0, "Name"), bytes) << i;
    EXPECT_EQ(again.json(), report.json());
    EXPECT_FALSE(report.table().empty());
    EXPECT_FALSE(report.csv().empty());
  }
}

TEST(Report, RefusesBadUtf8AndNumbersWithoutAComma) {
  opd_report *report = nullptr;
  for (const auto &[json, part] :
       {std::pair<std::string, const char *>{"{\"calls\":[],\"\xB3\":1}", "offset 13 is not UTF-8"},
        {"{\"calls\":[],\"x\":1-80.07}", "offset 17 follows a number without a comma"}})
    opdyno_test::expect_error(opd_report_from_json(json.data(), json.size(), &report), OPD_BAD_FORMAT, part);
}

TEST(Report, CanBeReadFromManyThreads) {
  const std::string json = report_file("sample.json"), table = report_file("table.txt");
  const JsonReport shared(json);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(shared.json(), json);
        EXPECT_EQ(JsonReport(json).table(), table);
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
  const JsonReport report(report_file("sample.json"));
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
  const auto listed = [&](opd_report_section section) {
    opdyno::Handle<opd_array> names;
    opdyno::check(opd_report_list(report.get(), section, names.out()));
    return opdyno::Value::retain(opdyno::arg(names)).to_string();
  };
  EXPECT_EQ(listed(OPD_REPORT_CALLS), R"(["Name", "Count", "Hash"])");
  EXPECT_EQ(listed(OPD_REPORT_DEVICES), R"(["Device"])");
  EXPECT_EQ(report.count(OPD_REPORT_DEVICES), 2u);
  EXPECT_EQ(listed(OPD_REPORT_CONFIGURATION), R"(["Executor"])");
  EXPECT_EQ(report.count(OPD_REPORT_CONFIGURATION), 1u);
  EXPECT_EQ(report.count(static_cast<opd_report_section>(3)), 0u);
  opd_array *none = nullptr;
  expect_error(opd_report_list(report.get(), static_cast<opd_report_section>(3), &none), OPD_INVALID_ARGUMENT,
               "section must be a section of reports, but is 3");
}

TEST(Report, GivesAColumnAtOnce) {
  const std::string json = R"({"calls":[{"Name":{"string":"a"},"Count":{"count":1}},{"Name":{"string":"b"}}],)"
                           R"("device_metrics":{"cpu0":{"Count":{"count":3}},"cuda1":{}}})";
  opdyno::Report report;
  opdyno::check(opd_report_from_json(json.data(), json.size(), report.out()));
  const auto column = [&](opd_report_section section, const char *name) {
    opdyno::Handle<opd_array> values, kinds;
    opdyno::check(opd_report_get_column(report.get(), section, name, values.out(), kinds.out()));
    return opdyno::Value::retain(opdyno::arg(values)).to_string() +
           opdyno::Value::retain(opdyno::arg(kinds)).to_string();
  };
  EXPECT_EQ(column(OPD_REPORT_CALLS, "Name"), R"(["a", "b"][5, 5])");
  EXPECT_EQ(column(OPD_REPORT_CALLS, "Count"), "[1, None][1, 0]");
  EXPECT_EQ(column(OPD_REPORT_DEVICES, "Count"), "[3, None][1, 0]");
  EXPECT_EQ(column(OPD_REPORT_DEVICES, "Device"), R"(["cpu0", "cuda1"][5, 5])");
  opdyno::Handle<opd_array> values;
  opdyno::check(opd_report_get_column(report.get(), OPD_REPORT_CALLS, "Name", values.out(), nullptr));
  opd_array *none = nullptr;
  expect_error(opd_report_get_column(report.get(), OPD_REPORT_CALLS, "x", &none, nullptr), OPD_NOT_FOUND,
               "Name, Count");
  expect_error(opd_report_get_column(opdyno::ReportBuilder().finish().get(), OPD_REPORT_CALLS, "x", &none, nullptr),
               OPD_NOT_FOUND, "without calls");
}

TEST(Report, RefusesAnUnknownFormat) {
  const opdyno::Report report = opdyno::ReportBuilder().finish();
  opd_buffer *text = nullptr;
  expect_error(opd_report_write(report.get(), static_cast<opd_report_format>(5), nullptr, &text), OPD_INVALID_ARGUMENT,
               "format must be a format of reports, but is 5");
}
