// A language model that TVM compiled, whose VM threads share. What it computes is compared with NumPy and TVM elsewhere
// (language/run.py).
#include <thread>

#include "support/paths.h"
#include "support/tiny_llama.h"

using namespace opdyno_test;

namespace {

// A prompt, which a second sequence shares, and tokens of both that the numbers lead to.
std::vector<float> generate(const TinyLlama &model, int32_t first, int num_tokens) {
  const Value cache = model.make_cache();
  const KvState state(cache);
  state.add(0);
  std::vector<int32_t> prompt;
  for (int i = 0; i < 20; ++i) prompt.push_back((first + 7 * i) % 97);
  std::vector<float> all = model.compute("prefill", cache, {0}, prompt);
  state.fork(0, 1);
  for (int i = 0; i < num_tokens; ++i) {
    const auto logits = model.compute("decode", cache, {0, 1}, {(first + i) % 97, (first + 3 * i + 1) % 97});
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

}  // namespace

TEST(ALanguageModel, IsSharedByThreadsWithTheirOwnCaches) {
  constexpr int kThreads = 4, kTokens = 12;
  const TinyLlama model(interop_data("/language/"));
  std::vector<std::vector<float>> alone(kThreads), together(kThreads);
  for (int t = 0; t < kThreads; ++t) alone[static_cast<size_t>(t)] = generate(model, t, kTokens);
  EXPECT_NE(alone[0], alone[1]);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) together[static_cast<size_t>(t)] = generate(model, t, kTokens);
    });
  for (std::thread &thread : threads) thread.join();
  for (size_t t = 0; t < kThreads; ++t) EXPECT_EQ(alone[t], together[t]) << "bit for bit, thread " << t;
}
