// The bookkeeping of a paged attention cache: a decode step's begin and end, and a token taken back. No kernel runs.
#include <opdyno/opdyno.hpp>
#include <vector>

#include "harness.h"

namespace {

using opdyno::Value;

opd_error *nothing(void *, const opd_value *, int32_t, opd_value *) { return nullptr; }

Value kernel() {
  opdyno::Function function;
  opdyno::check(opd_function_create(nothing, nullptr, nullptr, function.out()));
  return Value::of(function);
}

Value shape(const std::vector<int64_t> &dims) {
  opdyno::Handle<opd_shape> shape;
  opdyno::check(opd_shape_create(dims.data(), dims.size(), shape.out()));
  return Value::of(shape);
}

Value array(const std::vector<Value> &items) {
  std::vector<opd_value> views;
  for (const Value &item : items) views.push_back(item.view());
  opdyno::Handle<opd_array> array;
  opdyno::check(opd_array_create(views.data(), views.size(), array.out()));
  return Value::of(array);
}

// A cache of 4 layers for 4096 tokens of 8 sequences, in pages of 16: docs/builtins.md names the arguments.
opdyno::KvState make_cache() {
  const Value tagged = array({Value::of("tirx"), kernel()}), zero = Value::of(int64_t{0});
  const Value heads = Value::of(int64_t{8}), size = Value::of(int64_t{64});
  std::vector<Value> args = {shape({8, 4096, 512, 16, 0}),
                             shape({0, 4}),
                             heads,
                             heads,
                             size,
                             size,
                             shape({0, 0, 0, 0}),
                             Value::of(false),
                             zero,
                             Value::of(1.0),
                             Value::of(int64_t{10000}),
                             zero};
  args.push_back(Value::of(opdyno::Tensor(std::vector<int64_t>{}, "float32")));
  args.push_back(kernel());
  args.emplace_back();
  args.insert(args.end(), 7, tagged);
  args.push_back(array({}));
  args.push_back(array({kernel()}));
  args.insert(args.end(), 4, kernel());
  std::vector<opd_value> views;
  for (const Value &value : args) views.push_back(value.view());
  Value cache;
  opdyno::check(opd_function_call(opdyno::Function::global("vm.builtin.paged_attention_kv_cache_create").get(),
                                  views.data(), static_cast<int32_t>(views.size()), cache.out()));
  return opdyno::KvState(cache);
}

const bench::AddRow pass("kv_pass", "ns", [] {
  const opdyno::KvState cache = make_cache();
  cache.add(0);
  cache.begin({0}, {100});
  cache.end();
  return bench::timed(1, [cache](int64_t n) {
    const int64_t id = 0, count = 1;
    for (int64_t i = 0; i < n; ++i) {
      opdyno::check(opd_kv_state_begin(cache.get(), &id, 1, &count, 1, nullptr, 0));
      opdyno::check(opd_kv_state_end(cache.get(), 1));
      opdyno::check(opd_kv_state_pop(cache.get(), 0, 1));
    }
  });
});

const bench::AddRow create("kv_create", "ms", [] {
  return bench::timed(1e6, [](int64_t n) {
    for (int64_t i = 0; i < n; ++i) make_cache();
  });
});

}  // namespace
