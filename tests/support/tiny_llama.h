// examples/tiny_llama as TVM compiled it: a program, its weights, and caches of sequences.
#pragma once
#include "support/opdyno_test.h"

namespace opdyno_test {

class TinyLlama {
 public:
  explicit TinyLlama(const std::string &data) : vm(Module::load(data + "tiny_llama.so")), weights_(load(data)) {}

  Value make_cache(int64_t sliding_windows = 0) const {
    return vm.call("create_paged_kv_cache", size(2), size(128), size(64), size(16), size(sliding_windows));
  }
  // A pass of the same number of tokens for each sequence, and the logits of their last ones. `before` gets the
  // arguments of the function before it is called.
  std::vector<float> compute(
      const char *function, const Value &cache, const std::vector<int64_t> &ids, const std::vector<int32_t> &tokens,
      const std::function<void(const Views &)> &before = [](const Views &) {}) const {
    const KvState state(cache);
    const auto rows = static_cast<int64_t>(tokens.size()), each = rows / static_cast<int64_t>(ids.size());
    Tensor numbers({rows}, "int32");
    std::copy(tokens.begin(), tokens.end(), numbers.data<int32_t>());
    KvPass pass(state, ids, std::vector<int64_t>(ids.size(), each));
    const Tensor x = Tensor::of(vm.call("embed", numbers, weights_));
    const bool decodes = std::string(function) == "decode";
    const Tensor shaped = x.reshape(decodes ? std::vector<int64_t>{rows, 1, 64} : std::vector<int64_t>{1, rows, 64});
    before({arg(shaped), cache.view(), weights_.view()});
    const Value result = vm.call(function, shaped, cache, weights_);
    pass.keep();
    return to_floats(Array::of(result)[0].view());
  }

  const Vm vm;

 private:
  static Shape size(int64_t n) { return Shape({n}); }
  static Value load(const std::string &data) {
    const Params params = Params::load(data + "weights.npz");
    std::vector<opd_value> views;
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < params.size(); ++i) tensors.push_back(params.get_tensor(params.name(i)));
    for (const Tensor &tensor : tensors) views.push_back(arg(tensor));
    return Value::retain(arg(Array(views)));
  }

  const Value weights_;
};

}  // namespace opdyno_test
