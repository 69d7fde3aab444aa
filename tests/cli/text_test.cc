// Texts and numbers of the program: how they are read, padded, broken and shortened, and what the command line takes.
#include "cli/support/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/load/annotations.h"
#include "cli/support/args.h"
#include "cli/support/failure.h"
#include "cli/support/file.h"

namespace opd::cli {
namespace {

using Names = std::vector<std::string>;

TEST(Text, TextIsSplitWhereNoParenthesisIsOpen) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("", ','), (Parts{""}));
  EXPECT_EQ(split("a", ','), (Parts{"a"}));
  EXPECT_EQ(split(",a,,b,", ','), (Parts{"", "a", "", "b", ""}));
  EXPECT_EQ(split("f(1,2),g(h(3,4),5),6", ','), (Parts{"f(1,2)", "g(h(3,4),5)", "6"}));
  EXPECT_EQ(split("a),b", ','), (Parts{"a)", "b"}));
  EXPECT_EQ(split("a;b,c", ';'), (Parts{"a", "b,c"}));
}

TEST(Text, SpaceIsTrimmedAtBothEndsAndPaddedOnOne) {
  EXPECT_EQ(trim(" \t\r\n a b \n\r\t "), "a b");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(trim("\va"), "\va");
  EXPECT_EQ(pad_left("ab", 4), "  ab");
  EXPECT_EQ(pad_right("ab", 4), "ab  ");
  EXPECT_EQ(pad_left("é…", 4) + pad_right("é…", 4), "  é…é…  ");
  EXPECT_EQ(pad_left("abc", 3) + pad_right("abc", 2) + pad_left("abc", 0), "abcabcabc");
  EXPECT_EQ(counted(0, "run") + ", " + counted(1, "run") + ", " + counted(2, "run"), "0 runs, 1 run, 2 runs");
  EXPECT_EQ(join({}, ", ") + join({"a"}, ", ") + join({"b", "", "c"}, ", "), "ab, , c");
}

TEST(Text, LinesAreBrokenAtSpaces) {
  EXPECT_EQ(width_of("aé…😀"), 4u);
  EXPECT_EQ(wrapped("one two three", 0, 7), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 0, 6), "one\ntwo\nthree");
  EXPECT_EQ(wrapped("one two three", 0, 13), "one two three");
  EXPECT_EQ(wrapped("one two three", 2, 9), "one two\n  three");
  EXPECT_EQ(wrapped("one two three", 2, 8), "one\n  two\n  three");
  EXPECT_EQ(wrapped("a extraordinary b", 0, 5), "a\nextraordinary\nb");
  EXPECT_EQ(wrapped("éé éé", 0, 5), "éé éé");
  EXPECT_EQ(fitted("", 9), "");
  EXPECT_EQ(fitted("one two three\nfour\n", 7), "one two\nthree\nfour\n");
  EXPECT_EQ(fitted("  one two three\n\nx", 9), "  one two\n  three\n\nx");
  EXPECT_EQ(fitted("    one two three", 10), "    one\n    two\n    three");
  EXPECT_EQ(fitted("     one two three", 10), "     one two three")
      << "an indent of half of the width leaves too little";
}

// Two thirds of what is kept are those of the begin.
TEST(Text, NamesLoseTheirMiddle) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened("abcdefghij", 9), "abcdef…ij");
  EXPECT_EQ(shortened("abcdefghij", 7), "abcd…ij");
  EXPECT_EQ(shortened("abcdefghij", 4), "ab…j");
  EXPECT_EQ(shortened("abcdefghij", 3), "ab…");
  EXPECT_EQ(shortened("abcdefghij", 1), "…");
  EXPECT_EQ(shortened("äbcdéfghïj", 7), "äbcd…ïj");
}

TEST(Text, DifferentNamesOfAColumnStayDifferent) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(shortened_apart({"abcdefghij", "abc"}, 7), (Names{"abcd…ij", "abc"})) << "as one name";
  EXPECT_EQ(shortened_apart({"abcde1ghij", "abcde2ghij"}, 9), (Names{"abcde1…ij", "abcde2…ij"}));
  EXPECT_EQ(shortened_apart({"abcde1ghij", "abcde2ghij"}, 7), (Names{"abcde1…", "abcde2…"})) << "cut later";
  EXPECT_EQ(shortened_apart({"abcdef1hij", "abcdef2hij"}, 6), (Names{"a…1hij", "a…2hij"})) << "cut earlier";
  EXPECT_EQ(shortened_apart({"abcde1ghijk", "abcde2ghijk", "abcde1ghijk"}, 6), (Names{"ab…k~1", "ab…k~2", "ab…k~1"}))
      << "no cut shows where they differ";
}

TEST(Text, NumbersAreShownWithTheirDigits) {
  EXPECT_EQ(fixed(12.345, 1), "12.3");
  EXPECT_EQ(fixed(-0.5, 2), "-0.50");
  EXPECT_EQ(fixed(999999999999999, 0), "999999999999999");
  EXPECT_EQ(fixed(1e15, 2), "1e+15");
  EXPECT_EQ(fixed(-1.234567e18, 2), "-1.23457e+18");
  EXPECT_EQ(fixed(NAN, 2) + fixed(INFINITY, 2), "naninf");
  EXPECT_EQ(significant(1234567, 3), "1.23e+06");
  EXPECT_EQ(significant(0.25, 6), "0.25");
  EXPECT_EQ(cat("a", 'b', -3, 0.1f, 0.1), "ab-30.10.1");
}

TEST(Text, ControlCharactersBecomeSpaces) {
  EXPECT_EQ(printable("a\x01\x1F\x7F\n\tb"), "a     b");
  EXPECT_EQ(printable("a\n\tb\r", false), "a\n\tb ");
  EXPECT_EQ(printable("a\xC2\x80\xC2\x9F\xC2\xA0é"), "a  \xC2\xA0é");
  EXPECT_EQ(printable(" ~"), " ~");
}

TEST(Text, CsvAndMarkdownAreQuotedWhereTheyMust) {
  EXPECT_EQ(csv_field("a b"), "a b");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(csv_field("a\nb") + csv_field("a\rb"), "\"a\nb\"\"a\rb\"");
  EXPECT_EQ(markdown_text("a_b _c_ d_"), "a_b \\_c\\_ d\\_");
  EXPECT_EQ(markdown_text("Z_9 é_é"), "Z_9 é_é");
  EXPECT_EQ(markdown_text("0_z A_a À_À"), "0_z A_a À_À") << "À ends with the byte 0x80";
  EXPECT_EQ(markdown_text("/_:_@_[_`_{_x"), "/\\_:\\_@\\_[\\_\\`\\_{\\_x") << "what lies beside digits and letters";
  EXPECT_EQ(markdown_text("\\`*|~$<&"), "\\\\\\`\\*\\|\\~\\$\\<\\&");
  EXPECT_EQ(markdown_text("f[4](x) [a][b] [a]:"), "f[4\\](x) [a\\][b] [a\\]:");
  EXPECT_EQ(markdown_text("f[4], g[2]"), "f[4], g[2]");
}

TEST(Text, SuffixesHaveSmallLetters) {
  const std::pair<const char *, const char *> paths[] = {{"a.NPZ", ".npz"},     {"a.b/c", ""}, {"a.tar.GZ", ".gz"},
                                                         {"a.AzZ@[", ".azz@["}, {"-", ""},     {".hidden", ""}};
  for (const auto &[path, suffix] : paths) EXPECT_EQ(suffix_of(path), suffix) << path;
}

TEST(Text, ANumberIsTheWholeText) {
  EXPECT_EQ(read_int("+7"), 7);
  EXPECT_EQ(read_int("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(read_double("+1.5e3"), 1500);
  for (const char *wrong : {"", "+", "7 ", " 7", "7x", "0x7", "9223372036854775808", "1.5", "--7", "+-x"})
    EXPECT_FALSE(read_int(wrong)) << wrong;
  for (const char *wrong : {"", "1.5 ", "1.5x", "one", "1e999"}) EXPECT_FALSE(read_double(wrong)) << wrong;
}

TEST(Text, DurationsHaveUnits) {
  const std::pair<const char *, int64_t> durations[] = {{"1", 1'000'000'000},
                                                        {"1.5s", 1'500'000'000},
                                                        {"250ms", 250'000'000},
                                                        {"3us", 3000},
                                                        {"7ns", 7},
                                                        {"0.1ns", 1},
                                                        {"2m", 120'000'000'000},
                                                        {"1h", 3'600'000'000'000},
                                                        {"0.6ns", 1},
                                                        {"1.6ns", 2},
                                                        {"1e9", 1'000'000'000'000'000'000}};
  for (const auto &[text, ns] : durations) EXPECT_EQ(read_duration(text), ns) << text;
  for (const char *wrong : {"", "s", "0", "-1s", "1e10", "3e5h", "1 s", "1d", "nans"})
    EXPECT_FALSE(read_duration(wrong)) << wrong;
}

TEST(Text, SizesArePowersOf1024) {
  const std::pair<const char *, uint64_t> sizes[] = {{"4096", 4096},
                                                     {"64K", 65536},
                                                     {"64KiB", 65536},
                                                     {"64KB", 65536},
                                                     {"512M", 536870912},
                                                     {"2G", 2147483648u},
                                                     {"3T", 3298534883328ull},
                                                     {"7B", 7},
                                                     {"8191P", 0},
                                                     {"8388607T", 9223370937343148032u}};
  for (const auto &[text, bytes] : sizes)
    if (bytes) {
      EXPECT_EQ(read_bytes(text), bytes) << text;
    } else {
      EXPECT_FALSE(read_bytes(text)) << text;
    }
  for (const char *wrong : {"", "K", "0", "-1", "1.5K", "8388608T", "1KK", "iB"})
    EXPECT_FALSE(read_bytes(wrong)) << wrong;
}

// The nearest name, if a third of the letters differs at most; two that are swapped count once.
TEST(Text, TheNearestNameIsSuggested) {
  const Names names = {"run", "profile", "--repeat", "--rtol"};
  const std::pair<const char *, const char *> wanted[] = {{"rnu", "run"},
                                                          {"ru", "run"},
                                                          {"rund", "run"},
                                                          {"rxx", ""},
                                                          {"xun", "run"},
                                                          {"abrun", ""},
                                                          {"runab", ""},
                                                          {"porfiel", "profile"},
                                                          {"profxxx", ""},
                                                          {"profxxe", "profile"},
                                                          {"prfile", "profile"},
                                                          {"--repaet", "--repeat"},
                                                          {"--rtl", "--rtol"},
                                                          {"--rt", ""},
                                                          {"", ""}};
  for (const auto &[text, name] : wanted)
    EXPECT_EQ(suggest(text, names), *name ? cat(" Did you mean '", name, "'?") : "") << text;
  EXPECT_EQ(suggest("ab", {"abx", "ac", "ad"}), " Did you mean 'abx'?") << "the first of equals";
  EXPECT_EQ(suggest("x", {"y"}), "") << "a name of which nothing is left is not meant";
}

std::string failure_of(const Names &words, const std::vector<const Option *> &options) {
  try {
    Args::parse(words, options);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), Exit::usage);
    return failure.what();
  }
  return "";
}

TEST(Options, ValuesFollowOrAreAttached) {
  const Option name{"name", 'n', "N", ""}, flag{"flag", 'f', "", ""}, all{"all", 'a', "A", "", true},
      lacking{"lacking", 0, "L", "", false, true};
  const std::vector<const Option *> options = {&name, &flag, &all, &lacking};
  const Args args = Args::parse(
      {"one", "-nvalue", "-f", "--all", "1", "-a", "2", "--all=3=4", "--lacking", "two", "-", "--", "-x", "--"},
      options);
  EXPECT_EQ(args.words(), (Names{"one", "two", "-", "-x", "--"}));
  EXPECT_EQ(args.value("name"), "value");
  EXPECT_EQ(args.value("flag"), "");
  EXPECT_EQ(args.value("lacking"), "");
  EXPECT_EQ(args.all("all"), (Names{"1", "2", "3=4"}));
  EXPECT_EQ(args.all("none"), Names{});
  EXPECT_FALSE(args.has("none") || args.value("none"));
  EXPECT_EQ(Args::parse({"--lacking=", "--name="}, options).value("name"), "");
  EXPECT_EQ(Args::parse({"--lacking=x"}, options).value("lacking"), "x");
  const Args other = args.with_words({"three"});
  EXPECT_EQ(other.words(), Names{"three"});
  EXPECT_EQ(other.value("name"), "value");

  EXPECT_EQ(failure_of({"-n"}, options), "option '-n' needs a value: -n N");
  EXPECT_EQ(failure_of({"--name"}, options), "option '--name' needs a value: --name N");
  EXPECT_EQ(failure_of({"-fx"}, options), "option '--flag' takes no value, '-fx' gives one");
  EXPECT_EQ(failure_of({"--flag="}, options), "option '--flag' takes no value, '--flag=' gives one");
  EXPECT_EQ(failure_of({"-n1", "--name=2"}, options), "option '--name' is given twice");
  EXPECT_EQ(failure_of({"-f", "--flag"}, options), "option '--flag' is given twice");
  EXPECT_EQ(failure_of({"--nam=3"}, options), "unknown option '--nam'. Did you mean '--name'?");
  EXPECT_EQ(failure_of({"-z"}, options), "unknown option '-z'.");
}

TEST(Options, NumbersHaveBounds) {
  const Option name{"name", 'n', "N", ""};
  const auto given = [&](const char *text) { return Args::parse({cat("--name=", text)}, {&name}); };
  const Args none = Args::parse({}, {&name});
  EXPECT_EQ(none.integer("name", 5, 6, 7), 5) << "the default is not checked";
  EXPECT_EQ(none.real("name", -5), -5);
  EXPECT_FALSE(none.duration_ns("name") || none.bytes("name"));
  EXPECT_EQ(given("2").integer("name", 0, 2, 4) + given("4").integer("name", 0, 2, 4), 6);
  EXPECT_EQ(given("0").real("name", 1) + given("1e-3").real("name", 1), 1e-3);
  EXPECT_EQ(given("2us").duration_ns("name"), 2000);
  EXPECT_EQ(given("2K").bytes("name"), 2048u);
  const auto refusal = [&](const char *text, auto read) {
    try {
      read(given(text));
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.code(), Exit::usage);
      return std::string(failure.what());
    }
    return std::string();
  };
  for (const char *text : {"1", "5", "3.0", ""})
    EXPECT_EQ(refusal(text, [](const Args &args) { args.integer("name", 3, 2, 4); }),
              cat("option '--name' takes an integer from 2 to 4, not '", text, "'"));
  for (const char *text : {"-1", "nan", "x", ""})
    EXPECT_EQ(refusal(text, [](const Args &args) { args.real("name", 3); }),
              cat("option '--name' takes a number of at least 0, not '", text, "'"));
  EXPECT_EQ(refusal("soon", [](const Args &args) { args.duration_ns("name"); }),
            "option '--name' takes a time as 250ms, 5s or 2m, not 'soon'");
  EXPECT_EQ(refusal("much", [](const Args &args) { args.bytes("name"); }),
            "option '--name' takes a size as 4096, 64K, 512M or 2G, not 'much'");
}

// "float32[n, 4]" for a tensor, "-" for what is none.
std::string shown_signature(const KernelSignature &signature) {
  Names parts;
  for (const auto &argument : signature) {
    Names dims;
    if (argument)
      for (const Dim &dim : argument->dims) dims.push_back(std::visit([](const auto &one) { return cat(one); }, dim));
    parts.push_back(argument ? cat(argument->dtype, "[", join(dims, " "), "]") : "-");
  }
  return join(parts, "; ");
}

TEST(Signatures, TensorsHaveSizesAndADtype) {
  const std::pair<const char *, const char *> texts[] = {
      {"f(x: Tensor([T.int64(4), n], float32), y: Tensor([3], int8))", "float32[4 n]; int8[3]"},
      {"f(x: Tensor([T.int32(4), n_1], float32))", "float32[4 n_1]"},
      {"f(x: Tensor([], float32))", "float32[]"},
      {"f(a: handle, x: Tensor([n], bool), b: int64)", "-; bool[n]; -"},
      {"f(x)", "-"},
      {"f()", ""},
      {"f(x: Tensor([n + 1], float32))", "-"},
      {"f(x: Tensor([9n], float32))", "-"},
      {"f(x: Tensor([n * 2, 3], float32), y: Tensor([3], int8))", "-; int8[3]"},
      {"f(x: Tensor([n], float32, 1))", "-"},
      {"f(x: Tensor(n, float32))", "-"},
      {"f(x: Tensor([n, float32))", "-"},
      {"f(x: Tensor([n], float32)", "-"},
      {"f(x: TensorX([n], float32))", "-"},
      {"f(x: Tensor([n], float32)) -> y", ""},
  };
  for (const auto &[text, wanted] : texts) EXPECT_EQ(shown_signature(read_kernel_signature(text)), wanted) << text;
}

}  // namespace
}  // namespace opd::cli
