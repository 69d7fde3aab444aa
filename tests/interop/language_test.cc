// A language model that TVM compiled, whose VM threads share. What it computes is compared with NumPy and TVM elsewhere
// (language/run.py).
#include <thread>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

const std::string kData = OPDYNO_INTEROP_DATA "/language/";

Value weights() {
  const Params params = Params::load(kData + "weights.npz");
  std::vector<opd_value> views;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < params.size(); ++i) tensors.push_back(params.get_tensor(params.name(i)));
  for (const Tensor &tensor : tensors) views.push_back(arg(tensor));
  return Value::retain(arg(Array(views)));
}

Shape size(int64_t n) { return Shape({n}); }

// A prompt, which a second sequence shares, and tokens of both that the numbers lead to.
std::vector<float> generate(const Vm &vm, const Value &params, int32_t first, int num_tokens) {
  const Value cache = vm.call("create_paged_kv_cache", size(2), size(128), size(64), size(16), size(0));
  const KvState state(cache);
  const auto compute = [&](const char *function, const std::vector<int64_t> &ids, const std::vector<int32_t> &tokens) {
    const auto rows = static_cast<int64_t>(tokens.size()), each = rows / static_cast<int64_t>(ids.size());
    Tensor numbers({rows}, "int32");
    std::copy(tokens.begin(), tokens.end(), numbers.data<int32_t>());
    KvPass pass(state, ids, std::vector<int64_t>(ids.size(), each));
    const Tensor x = Tensor::of(vm.call("embed", numbers, params));
    const bool decodes = std::string(function) == "decode";
    const Tensor shaped = x.reshape(decodes ? std::vector<int64_t>{rows, 1, 64} : std::vector<int64_t>{1, rows, 64});
    const Value result = vm.call(function, shaped, cache, params);
    pass.keep();
    return to_floats(Array::of(result)[0].view());
  };
  state.add(0);
  std::vector<int32_t> prompt;
  for (int i = 0; i < 20; ++i) prompt.push_back((first + 7 * i) % 97);
  std::vector<float> all = compute("prefill", {0}, prompt);
  state.fork(0, 1);
  for (int i = 0; i < num_tokens; ++i) {
    const auto logits = compute("decode", {0, 1}, {(first + i) % 97, (first + 3 * i + 1) % 97});
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

}  // namespace

TEST(ALanguageModel, IsOneForThreadsThatEachHaveACache) {
  constexpr int kThreads = 4, kTokens = 12;
  const Vm vm(Module::load(kData + "tiny_llama.so"));
  const Value params = weights();
  std::vector<std::vector<float>> alone(kThreads), together(kThreads);
  for (int t = 0; t < kThreads; ++t) alone[static_cast<size_t>(t)] = generate(vm, params, t, kTokens);
  EXPECT_NE(alone[0], alone[1]);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) together[static_cast<size_t>(t)] = generate(vm, params, t, kTokens);
    });
  for (std::thread &thread : threads) thread.join();
  for (size_t t = 0; t < kThreads; ++t) EXPECT_EQ(alone[t], together[t]) << "bit for bit, thread " << t;
}
