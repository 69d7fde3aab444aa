// The peer of ../process.cc.
#include "../harness.h"
#include "../mlp.h"
#include "tvm.h"

namespace {

// Returns how long that took in ns; the arguments were made before.
double load_and_call() {
  std::vector<tvm::ffi::Tensor> tensors;
  std::vector<TVMFFIAny> args;
  for (const auto &dims : bench::kMlpShapes) {
    tensors.push_back(bench::make_tensor(dims, 0.01f));
    args.push_back(bench::view_of(tensors.back()));
  }
  return bench::nanoseconds([&] {
    const auto vm = bench::make_vm(tvm::ffi::Module::LoadFromFile(bench::artifact("mlp_784")));
    const auto function = vm->GetFunction("main", true).value();
    TVMFFIAny result{};
    bench::check(
        TVMFFIFunctionCall(bench::handle_of(function), args.data(), static_cast<int32_t>(args.size()), &result));
    bench::release(result);
  });
}

const bench::AddProcessRow first_call("load_first_call", "ms", [] { return load_and_call() / 1e6; });

const bench::AddProcessRow memory("peak_memory", "MiB", [] {
  load_and_call();
  return bench::peak_memory();
});

}  // namespace
