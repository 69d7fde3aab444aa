// A decoding pass of a small language model: with its kernels, and with kernels that compute nothing.
#include "llama.h"

#include <opdyno/opdyno.hpp>

namespace {

using opdyno::Module;
using opdyno::Tensor;
using opdyno::Value;

// The program, before whose kernels come those of another library.
Module load(const bench::Llama &llama) {
  const Module whole = Module::load(llama.library());
  if (llama.has_kernels) return whole;
  const Module program = opdyno::Executable::of(whole).to_module();
  program.add_import(Module::load(llama.kernels()));
  for (const Module &import : whole.imports()) program.add_import(import);
  return program;
}

Tensor filled(const std::vector<int64_t> &dims) {
  const Tensor tensor(dims, "float32");
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.data<float>()[i] = 0.01F;
  return tensor;
}

Value weights() {
  std::vector<Tensor> tensors;
  std::vector<opd_value> views;
  for (const auto &shape : bench::weight_shapes()) views.push_back(opdyno::arg(tensors.emplace_back(filled(shape))));
  return Value::of(opdyno::Array(views));
}

bench::Sampler time_of(bench::Llama llama) {
  const opdyno::Vm vm(load(llama));
  std::vector<Value> sizes;
  std::vector<opd_value> views;
  for (const int64_t size : bench::kCacheSizes)
    views.push_back(sizes.emplace_back(Value::of(opdyno::Shape({size}))).view());
  const Value cache =
      vm.call_with(opdyno::defaults(opd_call_options_init), "create_paged_kv_cache", {views.begin(), views.end()});
  const opdyno::KvState state(cache);
  const Value all = weights();
  state.add(0);
  state.begin({0}, {bench::kPrompt});
  vm.call("prefill", filled({1, bench::kPrompt, bench::kHidden}), cache, all);
  state.end();
  return bench::timed(1e3, [=, decode = vm.function("decode"), x = filled({1, 1, bench::kHidden})](int64_t n) {
    const opd_value args[] = {opdyno::arg(x), opdyno::arg(cache), opdyno::arg(all)};
    const int64_t id = 0, count = 1;
    for (int64_t i = 0; i < n; ++i) {
      opd_value result = opd_none();
      opdyno::check(opd_kv_state_begin(state.get(), &id, 1, &count, 1, nullptr, 0));
      opdyno::check(opd_function_call(decode.get(), args, 3, &result));
      opdyno::check(opd_kv_state_end(state.get(), 1));
      opdyno::check(opd_kv_state_pop(state.get(), 0, 1));
      opd_value_release(&result);
    }
  });
}

const bench::AddRow decode("kv_decode", "us", [] { return time_of({false, true}); });
const bench::AddRow decode_compiled("kv_decode_compiled", "us", [] { return time_of({true, true}); });
const bench::AddRow host("kv_decode_host", "us", [] { return time_of({false, false}); });

}  // namespace
