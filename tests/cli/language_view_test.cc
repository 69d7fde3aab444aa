// What is printed of a language model, and how the time of a token is divided.
#include <gtest/gtest.h>

#include "cli/language/language.h"
#include "cli/support/text.h"

namespace opd::cli {
namespace {

class Recording {
 public:
  Recording &row(const char *name, double self_us, int64_t run, const char *path = "") {
    builder_.add_call();
    builder_.set_call("Name", OPD_METRIC_STRING, opdyno::arg(name));
    builder_.set_call("Self (us)", OPD_METRIC_DURATION, opdyno::arg(self_us));
    builder_.set_call("Run", OPD_METRIC_COUNT, opdyno::arg(run));
    if (*path) builder_.set_call("Call Path", OPD_METRIC_STRING, opdyno::arg(path));
    return *this;
  }
  Report finish() const { return builder_.finish(); }

 private:
  const opdyno::ReportBuilder builder_;
};

constexpr const char *kAttention = "vm.builtin.attention_kv_cache_attention", *kState = "vm.builtin.rnn_state_get";

Report two_passes() {
  Recording recording;
  recording.row("matmul", 100, 5)
      .row(kAttention, 30, 5)
      .row("attend", 200, 5, "decode/vm.builtin.attention_kv_cache_attention");
  recording.row("vm.builtin.copy", 10, 5, "decode").row("(dispatch)", 5000, 5);
  recording.row("matmul", 150, 6, "decode").row("matmul", 150, 6).row(kState, 50, 6);
  recording.row("attend", 300, 6, "vm.builtin.rnn_state_get");
  return recording.finish();
}

std::string shown_profile(const TokenProfile &profile) {
  const auto us = [](double seconds) { return significant(seconds * 1e6, 6); };
  std::string text = cat(us(profile.whole), " = ", us(profile.operators), " + ", us(profile.attention), " + ",
                         us(profile.bookkeeping), " + ", us(profile.dispatch));
  for (const TokenProfile::Operator &one : profile.longest)
    text += cat("; ", one.name, " ", one.calls, " ", us(one.seconds));
  return text;
}

TEST(ATokensTime, IsDividedByOperatorAndCaller) {
  // Medians of two passes are their means.
  const DecodingTimes plain = {{600e-6, 800e-6}, {5e-6, 15e-6}};
  const TokenProfile profile(two_passes(), 2, plain);
  EXPECT_EQ(shown_profile(profile),
            "700 = 200 + 250 + 50 + 200; attend 1 250; matmul 1.5 200; vm.builtin.rnn_state_get 0.5 25; "
            "vm.builtin.attention_kv_cache_attention 0.5 15; vm.builtin.copy 0.5 5");
  EXPECT_DOUBLE_EQ(profile.share(350e-6), 0.5);
  EXPECT_NEAR(profile.host_share(), 250.0 / 700, 1e-12);
  const TokenProfile shorter(two_passes(), 2, {{100e-6}, {0}});
  EXPECT_EQ(shorter.dispatch, 0) << "the recording took longer than what was measured without";
  const TokenProfile none(two_passes(), 2, {{0}, {0}});
  EXPECT_EQ(none.share(1), 0);
}

TEST(ATokensTime, HasTheCallsOfAPassTogether) {
  Recording recording;  // embed and decode, by turns
  for (int64_t run = 0; run < 4; ++run)
    recording.row(run % 2 ? "matmul" : "take", run % 2 ? 100 * run : 10, run, "decode");
  EXPECT_EQ(shown_profile(TokenProfile(recording.finish(), 2, {{1e-3}, {0}})),
            "1000 = 210 + 0 + 0 + 790; matmul 1 200; take 1 10");
}

LanguageResult result() {
  LanguageResult result{{20, 2, 3}, 97, 4, {}, {{0.5, {}}, {1.5, {}}}, "board", {"create", "decode"}};
  result.runs[0].decoding = {{0.25, 2.5}, {0.125, 0.125}}, result.runs[1].decoding = {{0.25, 1}, {0.125, 0.5}};
  result.cache.num_pages = 7, result.cache.free_pages = 2, result.cache.page_size = 16, result.cache.bytes = 1536 << 10;
  return result;
}

TokenProfile profile() {
  TokenProfile profile(two_passes(), 2, {{1}, {0}});
  profile.whole = 0.5, profile.operators = 0.25, profile.attention = 0.125, profile.bookkeeping = 0.0625,
  profile.dispatch = 0.03125;
  profile.longest = {{"matmul\n", 12345, 0.25}, {"attend", 0.5, 0.125}};
  return profile;
}

constexpr const char *kTimes =
    "create, decode: 3 sequences, prompts of 20 tokens, 2 decoded after them; 2 runs\n"
    "  time to first token     1.000 s  60 tokens/s of the prompts\n"
    "  time per token p50   625.000 ms\n"
    "  time per token p99      2.455 s\n"
    "  time per token mean     1.000 s\n"
    "  tokens per second             3  3 at once\n"
    "  pages in use                  5  of 7";

TEST(LanguageText, HasTimesPagesAndParts) {
  LanguageResult given = result();
  EXPECT_EQ(language_text(given, 10), cat(kTimes, ", 16 tokens each; 1.5 MiB\n"));
  given.quality = {{"load", "1.00", true}};
  given.cache.page_size = 0, given.cache.bytes = 512;
  EXPECT_EQ(language_text(given, 10), cat(kTimes, "; 0.5 KiB\n  machine: load 1.00 (!)\n"));
  given.quality.clear(), given.cache.page_size = 1, given.cache.bytes = (1 << 20) - 1024;
  EXPECT_EQ(language_text(given, 10), cat(kTimes, ", 1 token each; 1023 KiB\n"));
  given.cache.bytes = 1 << 20;
  given.profile = profile();
  const std::string parts =
      "\nPer token                Time    Share\n"
      "operators          250.000 ms   50.0 %\n"
      "attention          125.000 ms   25.0 %\n"
      "cache bookkeeping   62.500 ms   12.5 %\n"
      "dispatch            31.250 ms    6.2 %\n"
      "all                500.000 ms  100.0 %\n";
  const std::string head = cat(kTimes, ", 1 token each; 1 MiB\n", parts);
  EXPECT_EQ(language_text(given, 2), head +
                                         "\nOperator  Calls per token  Time per token   Share\n"
                                         "matmul          1.234e+04      250.000 ms  50.0 %\n"
                                         "attend                0.5      125.000 ms  25.0 %\n");
  EXPECT_EQ(language_text(given, 1), head +
                                         "\nOperator  Calls per token  Time per token   Share\n"
                                         "matmul          1.234e+04      250.000 ms  50.0 %\n");
}

TEST(LanguageJson, HasEachMember) {
  LanguageResult given = result();
  given.quality = {{"load", "1.00", true}};
  const double p99 = Benchmark::of({0.25, 2.5, 0.25, 1}).percentile(99),
               first = Benchmark::of({0.5, 1.5}).percentile(99);
  const std::string begin =
      cat("{\"machine\":\"board\",\"functions\":[\"create\",\"decode\"],\"prefill\":20,\"decode\":2,\"batch\":3,"
          "\"vocabulary\":97,\"threads\":4,"
          "\"time_to_first_token_us\":{\"p50\":",
          1e6, ",\"p99\":", first * 1e6, ",\"mean\":", 1e6, ",\"min\":", 5e5, ",\"max\":", 15e5, ",\"results\":[", 5e5,
          ",", 15e5, "]},\"time_per_token_us\":{\"p50\":", 625e3, ",\"p99\":", p99 * 1e6, ",\"mean\":", 1e6,
          ",\"min\":", 25e4, ",\"max\":", 25e5, ",\"results\":[", 25e4, ",", 25e5, ",", 25e4, ",", 1e6,
          "]},\"tokens_per_second\":3,\"cache\":{\"pages\":7,\"pages_in_use\":5,\"page_size\":16,\"bytes\":1572864},"
          "\"quality\":{\"load\":\"1.00\"}");
  EXPECT_EQ(language_json(given), begin + "}\n");
  given.profile = profile();
  EXPECT_EQ(language_json(given),
            cat(begin, ",\"profile_us_per_token\":{\"operators\":", 25e4, ",\"attention\":", 125e3,
                ",\"cache_bookkeeping\":", 62500.0, ",\"dispatch\":", 31250.0, ",\"all\":", 5e5,
                "},\"host_share\":0.1875,\"operators\":[{\"name\":\"matmul\\u000a\","
                "\"calls_per_token\":12345,\"us_per_token\":",
                25e4, "},{\"name\":\"attend\",\"calls_per_token\":0.5,\"us_per_token\":", 125e3, "}]}\n"));
}

TEST(LanguageRuns, AreJoinedInTheirOrder) {
  const DecodingTimes all = result().tokens();
  EXPECT_EQ(all.whole, (std::vector<double>{0.25, 2.5, 0.25, 1}));
  EXPECT_EQ(all.bookkeeping, (std::vector<double>{0.125, 0.125, 0.125, 0.5}));
}

}  // namespace
}  // namespace opd::cli
