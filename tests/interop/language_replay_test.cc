// Recorded calls of a language model: the cache that a call is given comes along.
#include <opdyno/compare.h>
#include <opdyno/replay.h>

#include "support/paths.h"
#include "support/recorded_calls.h"
#include "support/tiny_llama.h"

using namespace opdyno_test;

namespace {

const TinyLlama &model() {
  static const TinyLlama made(interop_data("/language/"));
  return made;
}

// The logits of a pass whose call is recorded.
std::vector<float> record_pass(const Value &cache, const char *function, const std::vector<int64_t> &ids,
                               const std::vector<int32_t> &tokens, const opd_record_options *options = nullptr) {
  const auto logits = model().compute(function, cache, ids, tokens,
                                      [&](const Views &) { model().vm.record_next_call(recording_path(), options); });
  model().vm.end_recording();
  return logits;
}

std::vector<int32_t> prompt(int32_t first, size_t count) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < count; ++i) tokens.push_back((first + 7 * static_cast<int32_t>(i)) % 97);
  return tokens;
}

void record_next(const Views &) { model().vm.record_next_call(recording_path()); }

}  // namespace

TEST(ARecordedPass, ReplaysAPrompt) {
  const Value cache = model().make_cache();
  const KvState state(cache);
  state.add(3);
  record_pass(cache, "prefill", {3}, prompt(1, 20));
  state.clear();  // the file has its own
  const auto replayed = opdyno::replay(recording_path());
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
}

TEST(ARecordedPass, KeepsTheRowsOfForkedSequences) {
  const Value cache = model().make_cache();
  const KvState state(cache);
  state.add(3);
  model().compute("prefill", cache, {3}, prompt(5, 21));
  state.fork(3, 8, 18);
  model().compute("decode", cache, {3, 8}, {11, 12});
  auto options = opdyno::defaults(opd_record_options_init);
  options.with_outputs = options.with_operators = 1;
  record_pass(cache, "decode", {8, 3}, {40, 41}, &options);
  const auto first = model().compute("decode", cache, {8, 3}, {1, 2});
  const auto replayed = opdyno::replay(recording_path(), nullptr, true);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
  EXPECT_GT(replayed.profile.count(), 10U) << "a call of the pass that runs can be made many times";
  EXPECT_EQ(cell(replayed.report, 1, "Value").rfind("a state of vm.builtin.paged_attention_kv_cache_create, ", 0), 0U)
      << cell(replayed.report, 1, "Value");
}

TEST(ARecordedPass, ReturnsSomethingElseIfItsCacheHasOtherRows) {
  const auto logits_after = [](int32_t token) {
    const Value cache = model().make_cache();
    KvState(cache).add(0);
    model().compute("prefill", cache, {0}, prompt(token, 4));
    return record_pass(cache, "decode", {0}, {9});
  };
  EXPECT_NE(logits_after(1), logits_after(2)) << "so the replays above tell something";
}

TEST(ARecordedPass, KeepsTheWindowOfASequence) {
  const Value cache = model().make_cache(1);
  const KvState state(cache);
  state.add(0);
  Function::global("vm.builtin.attention_kv_cache_enable_sliding_window_for_seq")(cache, int64_t{0}, int64_t{24},
                                                                                  int64_t{4});
  model().compute("prefill", cache, {0}, prompt(2, 20));
  record_pass(cache, "decode", {0}, {6});
  EXPECT_TRUE(is_same(opdyno::replay(recording_path())));
  for (int32_t token = 0; token < 2; ++token) model().compute("decode", cache, {0}, {token});
  model().compute("decode", cache, {0}, {50}, record_next);
  model().vm.end_recording();
  EXPECT_TRUE(is_same(opdyno::replay(recording_path())));
  model().compute("decode", cache, {0}, {50}, record_next);
  try {
    model().vm.end_recording();
    ADD_FAILURE() << "the rows that the window forgot are gone";
  } catch (const Error &e) {
    EXPECT_EQ(
        e.message(),
        "the recorded call cannot be made again: argument 1, of type opdyno.vm.PagedKVCache (the sliding window of "
        "sequence 0 forgot rows in the pass that runs), cannot be kept in a recording");
  }
}

TEST(ComparedPasses, HaveACacheEach) {
  const TinyLlama other(interop_data("/language/"));
  const Value cache = model().make_cache();
  const KvState state(cache);
  state.add(0);
  model().compute("prefill", cache, {0}, prompt(2, 19));
  state.fork(0, 1);
  for (const auto &ids : {std::vector<int64_t>{0, 1}, {1}, {0}})
    model().compute("decode", cache, ids, std::vector<int32_t>(ids.size(), 7), [&](const Views &args) {
      const auto compared = opdyno::compare(model().vm, other.vm, "decode", args, nullptr, false);
      EXPECT_EQ(entry(compared.report, "Verdict").find("no difference: "), 0U) << entry(compared.report, "Verdict");
      EXPECT_EQ(compared.report.json().find("cannot be copied"), std::string::npos);
    });
  EXPECT_EQ(state.lengths().at(0), 21);
}
