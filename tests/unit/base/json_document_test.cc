// JSON whose numbers and texts are exact: RFC 8259.
#include "base/json_document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace opd {
namespace {

// The first item of the text, which is an array.
template <class Read>
auto first(const std::string &text, const Read &read) {
  const JsonDocument document(text, "a test");
  return read(document, document.root()->child);
}
double real(const std::string &number) {
  return first("[" + number + "]", [](const JsonDocument &in, const cJSON *item) { return in.real(item); });
}
int64_t integer(const std::string &number) {
  return first("[" + number + "]", [](const JsonDocument &in, const cJSON *item) { return in.integer(item); });
}
std::string text(const std::string &quoted) {
  return first("[" + quoted + "]", [](const JsonDocument &in, const cJSON *item) { return in.text(item); });
}
std::string problem(const std::string &document) {
  try {
    const JsonDocument read(document, "a test");
    return "";
  } catch (const Exception &e) { return e.error()->message; }
}

TEST(JsonNumbers, AreReadAsDoubles) {
  EXPECT_EQ(real("0"), 0);
  EXPECT_EQ(real("-1.5e2"), -150);
  EXPECT_EQ(real("0.1"), 0.1);
  EXPECT_EQ(real("1E+2"), 100);
  EXPECT_EQ(real("123456789012345678901234567890"), 123456789012345678901234567890.0);
  EXPECT_TRUE(std::isnan(real("null")));
}

// Beyond what a double holds, the power of ten of the first digit that is not 0 decides.
TEST(JsonNumbers, BeyondDoublesAreInfiniteOrZero) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char *large : {"1e999", "1e+999", "0.001e999", "1e99999999999999999999", "9e+99999999999999999999"}) {
    EXPECT_EQ(real(large), infinity) << large;
    EXPECT_EQ(real(std::string("-") + large), -infinity) << large;
  }
  for (const char *small : {"1e-999", "1000e-999", "0.1e-999", "1e-99999999999999999999"}) {
    EXPECT_EQ(real(small), 0) << small;
    EXPECT_FALSE(std::signbit(real(small))) << small;
    EXPECT_TRUE(std::signbit(real(std::string("-") + small))) << small;
  }
  EXPECT_EQ(real("1" + std::string(400, '0')), infinity);
  EXPECT_EQ(real("1" + std::string(400, '0') + "e-400"), 1) << "zeros and an exponent that make up for each other";
  EXPECT_EQ(real("0." + std::string(400, '0') + "1"), 0);
  EXPECT_EQ(real("0." + std::string(400, '0') + "1e401"), 1);
}

TEST(JsonNumbers, AreIntegersOf64Bits) {
  EXPECT_EQ(integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(integer("9007199254740993"), 9007199254740993) << "which no double holds";
  for (const char *none : {"9223372036854775808", "1.0", "1e2", "-0.5"}) EXPECT_THROW(integer(none), Exception) << none;
}

TEST(JsonTexts, AreDecoded) {
  EXPECT_EQ(text(R"("")"), "");
  EXPECT_EQ(text(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(text(R"("a\u0000b")"), std::string("a\0b", 3));
  EXPECT_EQ(text(R"("\u0041\u00e9\u20AC\ud83d\uDE00 end")"), "A\u00e9\u20ac\U0001f600 end");
  EXPECT_EQ(text(R"("\ud800\udc00\uDBFF\udfff")"), "\U00010000\U0010ffff");
  // Half of a pair is no character.
  EXPECT_EQ(text(R"("\ud800")"), "\ufffd");
  EXPECT_EQ(text(R"("\ud800x")"), "\ufffdx");
  EXPECT_EQ(text(R"("\ud800\n")"), "\ufffd\n");
  EXPECT_EQ(text(R"("\ud800\u0041")"), "\ufffdA");
  EXPECT_EQ(text(R"("\ud800\ue000")"), "\ufffd\ue000");
  EXPECT_EQ(text(R"("\udc00\ud800")"), "\ufffd\ufffd");
  EXPECT_EQ(text(R"("\ud7ff\ue000")"), "\ud7ff\ue000");
}

TEST(JsonDocuments, KeepEveryTokenInItsPlace) {
  const std::string whole = R"( {"a" : [1, "x\"y", null, true, false, {}, []], "b\n": -2.50e1, "": {"c":"d"}} )";
  const JsonDocument document(whole, "a test");
  const cJSON *a = document.root()->child, *b = a->next, *c = b->next;
  EXPECT_EQ(document.key(a), "a");
  EXPECT_EQ(document.key(b), "b\n");
  EXPECT_EQ(document.key(c), "");
  EXPECT_EQ(document.number(b), "-2.50e1");
  EXPECT_EQ(document.text(c->child), "d");
  EXPECT_EQ(document.offset(a), whole.find("\"a\""));
  EXPECT_EQ(document.offset(a->child), whole.find("1,"));
  EXPECT_EQ(document.offset(c->child), whole.find("\"c\""));
  EXPECT_EQ(document.compact(document.root()), R"({"a":[1,"x\"y",null,true,false,{},[]],"b\n":-2.50e1,"":{"c":"d"}})");
  try {
    document.bad(a->child, "is bad");
    FAIL() << "nothing was thrown";
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_BAD_FORMAT);
    EXPECT_NE(e.error()->message.find("is bad"), std::string::npos);
    EXPECT_NE(e.error()->message.find(std::to_string(whole.find("1,"))), std::string::npos) << e.error()->message;
  }
}

TEST(JsonDocuments, AreRefusedIfMalformed) {
  EXPECT_EQ(problem("[]"), "");
  for (const char *bad :
       {"",         " ",     "[",          "]",     "[1",        "[1,]",        "[1 2]",         "{\"a\"}",
        "{\"a\":}", "{1:2}", "{\"a\":1,}", "[\"a]", "[\"\\x\"]", "[\"\\u12\"]", "[\"\\u12g4\"]", "[tru]",
        "[nulll]",  "[1] 2", "[01]",       "[1.]",  "[.5]",      "[+1]",        "[1e]",          "[1e+]",
        "[-]",      "[--1]", "[0x1]",      "[NaN]", "['a']"}) {
    const std::string message = problem(bad);
    EXPECT_NE(message, "") << bad;
    EXPECT_NE(message.find("a test"), std::string::npos) << message;
  }
}

TEST(JsonDocuments, HaveErrorsWithOffsetAndReason) {
  const std::pair<std::string, const char *> cases[] = {
      {"[1-2]", "2 follows a number without a comma"},
      {"[1\"a\"]", "2 follows a number without a comma"},
      {"[1:2]", "2 follows a number without a comma"},
      {"[1.5.2]", "4 follows a number without a comma"},
      {"[0x1]", "2 follows a number without a comma"},
      {"[00]", "1 begins a number with leading zeros"},
      {"[-01.5]", "1 begins a number with leading zeros"},
      {"[1, -]", "4 begins a number that lacks digits"},
      {"[1.]", "1 begins a number that lacks digits"},
      {"[1e+]", "1 begins a number that lacks digits"},
      {"[\"a\x1f\"]", "3 has a control character in a string; it must be escaped"},
      {"[\"a\\q\"]", "3 has an unknown escape"},
      {"[\"a\\u12g4\"]", "3 has a \\u without four hexadecimal digits"},
      {"[\"a\\u123", "3 has a \\u without four hexadecimal digits"},
      {"[1, \"a", "4 begins a string that does not end"},
      {"[1, \"a\\", "4 begins a string that does not end"},
      {"[1,\x01 2]", "3 has a control character between values"},
      {"[1,\x1f 2]", "3 has a control character between values"},
      {"[\"a\xff\"]", "3 is not UTF-8"}};
  for (const auto &[document, message] : cases)
    EXPECT_EQ(problem(document), std::string("a test: JSON at offset ") + message) << document;
  EXPECT_EQ(problem(" \t\r\n[\t1\r,\n\" \\u00e9\\n\" , -0.5e-1 , 2E+3, 0 , 10]\n"), "");
  for (const char *number : {"0", "-0", "10", "0.0", "1e5", "-1E-05"}) EXPECT_EQ(problem(number), "") << number;
}

TEST(JsonDocuments, NestUpTo100Levels) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(problem(nested(100)), "");
  EXPECT_EQ(problem(nested(101)), "a test: JSON at offset 100 nests deeper than 100 levels");
  std::string wide = "[{}";
  for (int i = 0; i < 200; ++i) wide += i % 2 ? ",[]" : ",{}";
  EXPECT_EQ(problem(wide + "]"), "") << "what lies beside each other is not nested";
}

TEST(JsonDocuments, RefuseNumbersThatAreNotIntegers) {
  const std::string text = "[1.5, \"x\", [], 1" + std::string(99, '0') + "]";
  const JsonDocument document(text, "a test");
  const cJSON *const first = document.root()->child, *const list = first->next->next, *const last = list->next;
  const auto told = [&](const cJSON *item) {
    try {
      document.integer(item);
    } catch (const Exception &e) { return e.error()->message; }
    return std::string("accepted");
  };
  EXPECT_EQ(told(first), "a test: JSON at offset 1 has the number 1.5; a 64-bit integer is expected");
  EXPECT_EQ(told(last),
            "a test: JSON at offset 15 has the number 1" + std::string(59, '0') + "; a 64-bit integer is expected")
      << "its first 60 digits";
  EXPECT_EQ(document.offset(list), 15u) << "that of the next value";
  const JsonDocument empty(" [] ", "a test");
  EXPECT_EQ(empty.offset(empty.root()), 4u) << "there is no next value";
}

TEST(JsonTexts, ErrorsHaveTheOffsetOfAMissingKey) {
  EXPECT_EQ(problem("{true:2}"), "a test: JSON at offset 1 is malformed");
  EXPECT_EQ(problem("{ null:2}"), "a test: JSON at offset 2 is malformed");
  EXPECT_EQ(problem("{\"a\":1,null:3}"), "a test: JSON at offset 7 is malformed");
  EXPECT_EQ(problem("[{\"a\":[1,{}],true:3}]"), "a test: JSON at offset 13 is malformed");
}

}  // namespace
}  // namespace opd
