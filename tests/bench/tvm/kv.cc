// The peers of ../kv_cache.cc and ../llama.cc: TVM's paged cache, and the same decoder in TVM's VM.
#include "../harness.h"
#include "../llama.h"
#include "tvm.h"

namespace {

namespace ffi = tvm::ffi;

ffi::Function builtin(const std::string &name) { return ffi::Function::GetGlobalRequired("vm.builtin." + name); }

// A call without conversions, as hosts in C make it; TVM has no faster way.
void call(const ffi::Function &function, std::initializer_list<TVMFFIAny> args) {
  TVMFFIAny result{};
  bench::check(TVMFFIFunctionCall(bench::handle_of(function), const_cast<TVMFFIAny *>(args.begin()),
                                  static_cast<int32_t>(args.size()), &result));
  bench::release(result);
}

TVMFFIAny number(int64_t value) {
  TVMFFIAny any{};
  any.type_index = kTVMFFIInt;
  any.v_int64 = value;
  return any;
}

// A pass of one token begins and ends, and the token is taken back.
struct Pass {
  ffi::ObjectRef state;
  ffi::Shape ids{0}, counts{1};
  ffi::Function begin = builtin("kv_state_begin_forward"), end = builtin("kv_state_end_forward"),
                pop = builtin("kv_state_popn");

  void prompt(int64_t tokens, const std::function<void()> &compute) const {
    builtin("kv_state_add_sequence")(state, 0);
    begin(state, ids, ffi::Shape{tokens});
    compute();
    end(state);
  }
  void token(const std::function<void()> &compute) const {
    const TVMFFIAny view = bench::view_of(state);
    call(begin, {view, bench::view_of(ids), bench::view_of(counts)});
    compute();
    call(end, {view});
    call(pop, {view, number(0), number(1)});
  }
};

// As make_cache() of ../kv_cache.cc.
ffi::ObjectRef make_cache() {
  const ffi::Function kernel = ffi::Function::FromPacked([](const ffi::AnyView *, int32_t, ffi::Any *) {});
  const ffi::Array<ffi::Any> tagged{ffi::String("tirx"), kernel}, none{}, merges{kernel};
  std::vector<ffi::Any> args = {ffi::Shape{8, 4096, 512, 16, 0},
                                ffi::Shape{0, 4},
                                8,
                                8,
                                64,
                                64,
                                ffi::Shape{0, 0, 0, 0},
                                false,
                                0,
                                1.0,
                                10000,
                                0,
                                bench::make_tensor({}),
                                kernel,
                                nullptr};
  for (int i = 0; i < 7; ++i) args.emplace_back(tagged);
  args.insert(args.end(), {none, merges, kernel, kernel, kernel, kernel});
  std::vector<ffi::AnyView> views(args.begin(), args.end());
  ffi::Any cache;
  builtin("paged_attention_kv_cache_create").CallPacked(views.data(), static_cast<int32_t>(views.size()), &cache);
  return cache.cast<ffi::ObjectRef>();
}

const bench::AddRow pass("kv_pass", "ns", [] {
  const Pass pass{make_cache()};
  pass.prompt(100, [] {});
  return bench::timed(1, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) pass.token([] {});
  });
});

const bench::AddRow create("kv_create", "ms", [] {
  return bench::timed(1e6, [](int64_t n) {
    for (int64_t i = 0; i < n; ++i) make_cache();
  });
});

ffi::Module load(const bench::Llama &llama) {
  const ffi::Module whole = ffi::Module::LoadFromFile(llama.library());
  if (llama.has_kernels) return whole;
  const auto read = ffi::Function::GetGlobalRequired("ffi.Module.load_from_bytes.relax.VMExecutable");
  ffi::Module program = read(whole->SaveToBytes()).cast<ffi::Module>();
  program->ImportModule(ffi::Module::LoadFromFile(llama.kernels()));
  for (const ffi::Any &import : whole->imports()) program->ImportModule(import.cast<ffi::Module>());
  return program;
}

bench::Sampler time_of(bench::Llama llama) {
  const ffi::Module vm = bench::make_vm(load(llama));
  const auto function = [vm](const char *name) { return vm->GetFunction(name, true).value(); };
  const auto shape = [](int i) { return ffi::Shape{bench::kCacheSizes[static_cast<size_t>(i)]}; };
  const auto cache = function("create_paged_kv_cache")(shape(0), shape(1), shape(2), shape(3), shape(4));
  ffi::Array<ffi::Any> weights;
  for (const auto &dims : bench::weight_shapes()) weights.push_back(bench::make_tensor(dims, 0.01F));
  const Pass pass{cache.cast<ffi::ObjectRef>()};
  pass.prompt(bench::kPrompt, [&] {
    function("prefill")(bench::make_tensor({1, bench::kPrompt, bench::kHidden}, 0.01F), pass.state, weights);
  });
  return bench::timed(
      1e3, [=, decode = function("decode"), x = bench::make_tensor({1, 1, bench::kHidden}, 0.01F)](int64_t n) {
        const auto compute = [&] {
          call(decode, {bench::view_of(x), bench::view_of(pass.state), bench::view_of(weights)});
        };
        for (int64_t i = 0; i < n; ++i) pass.token(compute);
      });
}

const bench::AddRow decode("kv_decode", "us", [] { return time_of({false, true}); });
const bench::AddRow decode_compiled("kv_decode_compiled", "us", [] { return time_of({true, true}); });
const bench::AddRow host("kv_decode_host", "us", [] { return time_of({false, false}); });

}  // namespace
