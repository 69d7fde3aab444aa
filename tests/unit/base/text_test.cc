// Texts: parts and numbers, JSON strings, paths with patterns, and how many edits lie between two words.
#include "base/text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/json_writer.h"
#include "base/path_pattern.h"

namespace opd {
namespace {

TEST(EditDistance, CountsInsertionsRemovalsAndReplacements) {
  const struct {
    const char *a, *b;
    size_t distance;
  } cases[] = {{"", "", 0},      {"ab", "ab", 0}, {"ab", "xab", 1},        {"ab", "abx", 1},
               {"xab", "ab", 1}, {"ab", "ba", 2}, {"abc", "axc", 1},       {"", "abc", 3},
               {"abc", "", 3},   {"b", "aab", 2}, {"kitten", "sitting", 3}};
  for (const auto &test : cases) EXPECT_EQ(edit_distance(test.a, test.b, 5), test.distance) << test.a << " " << test.b;
  EXPECT_EQ(edit_distance("ab", "abcdef", 3), 4u) << "only that it is more than the limit";
  EXPECT_EQ(edit_distance("ab", "abcde", 3), 3u);
  const std::string most(200, 'x'), more(201, 'x');
  EXPECT_EQ(edit_distance(most, most, 5), 0u);
  for (const auto &[a, b] : {std::pair(most, more), {more, most}, {more, more}})
    EXPECT_EQ(edit_distance(a, b, 5), 6u) << "words of more than 200 letters are not compared";
}

TEST(Suggestions, NameTheThreeClosest) {
  using Names = std::vector<std::string>;
  const auto suggest = [](const char *wanted, const Names &names) { return suggestion(wanted, names); };
  EXPECT_EQ(suggest("conut", {"count"}), " Did you mean count?");
  EXPECT_EQ(suggest("count", {"main", "loop"}), "");
  EXPECT_EQ(suggest("ab", {"abxx", "abx", "ab"}), " Did you mean ab, abx, abxx?") << "the closest first";
  EXPECT_EQ(suggest("ab", {"abc", "abd", "abe", "abf"}), " Did you mean abc, abd, abe?")
      << "those of one distance in order";
  EXPECT_EQ(suggest("ab", {"abxyz"}), "") << "two edits are the most for a short name";
  EXPECT_EQ(suggest("abcdefghijkl", {"abcdefghwxyz"}), " Did you mean abcdefghwxyz?") << "a third for a long one";
  EXPECT_EQ(suggest("abcdefghijkl", {"abcdefgvwxyz"}), "");
}

TEST(Texts, AreMadeOfPartsOfEachKind) {
  EXPECT_EQ(concat("text", std::string(" string "), 'c', int8_t{-8}, uint64_t{UINT64_MAX}, ' ', INT64_MIN, ' ', 0.1,
                   true ? "!" : ""),
            "text string c-818446744073709551615 -9223372036854775808 0.1!");
  EXPECT_EQ(concat(1e300, " ", -0.0, " ", 3.0), "1e+300 -0 3");
  EXPECT_EQ(counted(0, "argument"), "0 arguments");
  EXPECT_EQ(counted(1, "argument"), "1 argument");
  EXPECT_EQ(counted(2u, "argument"), "2 arguments");
}

TEST(Texts, HaveNumbersOfFixedDigits) {
  const auto fixed = [](double number, int decimals) {
    std::string out;
    append_fixed(out, number, decimals);
    return out;
  };
  EXPECT_EQ(fixed(1.005, 0), "1");
  EXPECT_EQ(fixed(2.5, 2), "2.50");
  EXPECT_EQ(fixed(-0.125, 3), "-0.125");
  EXPECT_EQ(fixed(NAN, 2), "nan");
  EXPECT_EQ(fixed(INFINITY, 2), "inf");
  EXPECT_EQ(fixed(-INFINITY, 2), "-inf");
  EXPECT_EQ(fixed(std::numeric_limits<double>::max(), 0).size(), 309u);
}

// RFC 3629: the longest and shortest sequences of each length, and those that are none.
TEST(Utf8, IsTheShortestFormOfACharacter) {
  for (const auto &[text, length] : {std::pair<std::string_view, size_t>{{"\0", 1}, 1},
                                     {"\x7f", 1},
                                     {"\xc2\x80", 2},
                                     {"\xdf\xbf", 2},
                                     {"\xe0\xa0\x80", 3},
                                     {"\xed\x9f\xbf", 3},
                                     {"\xee\x80\x80", 3},
                                     {"\xef\xbf\xbf", 3},
                                     {"\xf0\x90\x80\x80", 4},
                                     {"\xf4\x8f\xbf\xbf", 4},
                                     {"\x80", 0},
                                     {"\xbf", 0},
                                     {"\x81\x80\x80", 0},
                                     {"\x84\x80\x80\x80", 0},
                                     {"\xc1\xbf", 0},
                                     {"\xc2", 0},
                                     {"\xc2\x7f", 0},
                                     {"\xe0\x9f\xbf", 0},
                                     {"\xe0\xa0", 0},
                                     {"\xe1\xc0\x80", 0},
                                     {"\xe1\x80\xc0", 0},
                                     {"\xed\xa0\x80", 0},
                                     {"\xed\xbf\xbf", 0},
                                     {"\xf0\x8f\xbf\xbf", 0},
                                     {"\xf0\x90\x80", 0},
                                     {"\xf1\xc0\x80\x80", 0},
                                     {"\xf1\x80\xc0\x80", 0},
                                     {"\xf1\x80\x80\xc0", 0},
                                     {"\xf4\x90\x80\x80", 0},
                                     {"\xf5\x80\x80\x80", 0},
                                     {"\xf8\x90\x80\x80", 0},
                                     {"\xff", 0}}) {
    EXPECT_EQ(utf8_length(text), length) << json_string(text);
    EXPECT_EQ(is_utf8(text), length != 0) << json_string(text);
  }
  EXPECT_TRUE(is_utf8(""));
  EXPECT_FALSE(is_utf8("a\xff"));
  std::string out = "x";
  append_utf8_text(out, "a\xff\xc3\xa9\xe2\x82 b");
  EXPECT_EQ(out, "xa\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd b");
}

TEST(JsonTexts, AreEscaped) {
  EXPECT_EQ(json_string("a\"\\/\n\t\r\b\x01\x1f\x7f\xc3\xa9"),
            "\"a\\\"\\\\/\\n\\t\\r\\u0008\\u0001\\u001f\x7f\xc3\xa9\"");
  EXPECT_EQ(json_string("\xffz"), "\"\xef\xbf\xbdz\"");
  EXPECT_EQ(json_string({"\0", 1}), "\"\\u0000\"");
  EXPECT_EQ(json_string(""), "\"\"");
  JsonWriter json;
  json.begin_object().key("a").value(1).key("b").begin_array().value("x").value(true).value(false).raw("null");
  json.begin_array().end_array().begin_object().end_object().end_array().key("c").value(uint64_t{UINT64_MAX});
  EXPECT_EQ(json.end_object().take(), R"({"a":1,"b":["x",true,false,null,[],{}],"c":18446744073709551615})");
}

TEST(PathPatterns, HoldTheProcessAndANumber) {
  const std::string pid = std::to_string(getpid());
  for (const auto &[pattern, without, with] : {std::tuple<const char *, std::string, std::string>{"a", "a", "a"},
                                               {"%p.json", pid + ".json", pid + ".json"},
                                               {"a%n", "a%n", "a7"},
                                               {"%%p", "%p", "%p"},
                                               {"%", "%", "%"},
                                               {"%x%", "%x%", "%x%"},
                                               {"%p%n%%", pid + "%n%", pid + "7%"},
                                               {"an", "an", "an"},
                                               {"", "", ""}}) {
    EXPECT_EQ(expand_path(pattern, std::nullopt), without) << pattern;
    EXPECT_EQ(expand_path(pattern, 7), with) << pattern;
  }
  for (const char *pattern : {"%p", "a%pb", "%%%p", "%n%p"}) EXPECT_TRUE(has_process_number(pattern)) << pattern;
  for (const char *pattern : {"", "p", "%", "%%p", "%n", "%%%%p"}) EXPECT_FALSE(has_process_number(pattern)) << pattern;
}

TEST(BytesFromOutside, AreReadWithinTheirEnd) {
  const auto told = [](auto &&body) {
    try {
      body();
    } catch (const Exception &e) { return std::string(e.what()); }
    return std::string("accepted");
  };
  ByteWriter out;
  out.write<uint32_t>(7);
  out.write_string("text");
  out.write<uint64_t>(2);
  out.write_bytes("abc", 3);
  EXPECT_EQ(out.size(), 4u + 12 + 8 + 3);
  const std::string bytes = out.take();
  ByteReader in(as_bytes(bytes), "the test", 100);
  EXPECT_EQ(in.offset(), 100u);
  EXPECT_EQ(in.read<uint32_t>("a number"), 7u);
  EXPECT_EQ(in.offset(), 104u);
  EXPECT_EQ(in.read_string("a text"), "text");
  EXPECT_EQ(in.remaining(), 11u);
  EXPECT_FALSE(in.at_end());
  EXPECT_EQ(in.read_count(1, "entries"), 2u);
  EXPECT_EQ(told([&] { in.take(4, "the rest"); }), "the test: the rest at offset 124 needs 4 bytes, 3 remain");
  EXPECT_EQ(as_text(in.take(3, "the rest")), "abc");
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(told([&] { in.read<uint8_t>("a byte"); }), "the test: a byte at offset 127 needs 1 bytes, 0 remain");
  const std::string counts("\2\0\0\0\0\0\0\0abc", 11);
  EXPECT_EQ(told([&] { ByteReader(as_bytes(counts), "the test").read_count(1, "entries"); }), "accepted");
  EXPECT_EQ(told([&] { ByteReader(as_bytes(counts), "the test").read_count(2, "entries"); }),
            "the test: entries at offset 8 counts 2 entries, but only 3 bytes remain");
  EXPECT_EQ(told([&] { ByteReader(as_bytes(counts), "the test").bad("a field", "is odd"); }),
            "the test: a field at offset 0 is odd");
}

}  // namespace
}  // namespace opd
