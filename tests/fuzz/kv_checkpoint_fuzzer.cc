// Any text as the metadata of a checkpoint of a KV cache: refused, which leaves the cache as it was, or the sequence
// comes back with the pages that it needs.
#include <cstdlib>
#include <opdyno/kv_state.hpp>
#include <opdyno/opdyno.hpp>

namespace {

using namespace opdyno;

constexpr int64_t kSequence = 5, kOther = 6, kPageSize = 4, kLayers = 2;

opd_error *kernel(void *, const opd_value *, int32_t, opd_value *) { return nullptr; }

// Full attention with one head of two numbers, 16 pages. No kernel is called.
Value make_cache() {
  Function function;
  check(opd_function_create(kernel, nullptr, nullptr, function.out()));
  const Shape sizes({3, 64, 32, kPageSize, 0}), layers({0, kLayers}), kinds(std::vector<int64_t>(kLayers, 0));
  const Value tag = Value::of("tirx");
  const Array tagged({tag.view(), arg(function)}), none(std::vector<opd_value>{}), merge({arg(function)});
  const Tensor example(std::vector<int64_t>{}, "float32");
  std::vector<opd_value> args{arg(sizes),     arg(layers), opd_int(1),   opd_int(1),    opd_int(2),
                              opd_int(2),     arg(kinds),  opd_bool(0),  opd_int(0),    opd_float(1),
                              opd_int(10000), opd_int(0),  arg(example), arg(function), opd_none()};
  for (int i = 0; i < 7; ++i) args.push_back(arg(tagged));
  args.push_back(arg(none)), args.push_back(arg(merge));
  for (int i = 0; i < 4; ++i) args.push_back(arg(function));
  Value cache;
  check(opd_function_call(Function::global("vm.builtin.paged_attention_kv_cache_create").get(), args.data(),
                          static_cast<int32_t>(args.size()), cache.out()));
  return cache;
}

void require(bool holds) {
  if (!holds) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Value cache = make_cache();
  static const KvState state(cache);
  static const Function prepare = Function::global("vm.builtin.attention_kv_cache_prepare_import"),
                        import = Function::global("vm.builtin.attention_kv_cache_import_page_group"),
                        finish = Function::global("vm.builtin.attention_kv_cache_finish_import");
  state.clear();
  state.add(kOther);
  const opd_kv_stats before = state.stats();
  try {
    prepare(cache, kSequence, std::string(reinterpret_cast<const char *>(data), size));
  } catch (const Error &error) {
    require(!error.message().empty() && state.lengths().size() == 1 && state.stats().free_pages == before.free_pages);
    return 0;
  }
  const int64_t pages = before.free_pages - state.stats().free_pages;
  for (int64_t layer = 0; pages > 0 && layer < kLayers; ++layer)
    import(cache, kSequence, layer, Tensor({1, pages, 2, 1, kPageSize, 2}, "float32"));
  finish(cache, kSequence);
  const int64_t length = state.lengths().at(kSequence);
  require(length >= 0 && (length + kPageSize - 1) / kPageSize == pages);
  state.remove(kSequence);
  require(state.stats().free_pages == before.free_pages);
  return 0;
}
