// The peer of ../process.cc.
#include "../harness.h"
#include "../mlp.h"
#include "tvm.h"

namespace {

const bench::AddProcessRow memory("peak_memory", "MiB", [] {
  const auto vm = bench::make_vm(tvm::ffi::Module::LoadFromFile(bench::artefact("mlp_784")));
  std::vector<tvm::ffi::Tensor> tensors;
  std::vector<TVMFFIAny> args;
  for (const auto &dims : bench::kMlpShapes) {
    tensors.push_back(bench::make_tensor(dims, 0.01f));
    args.push_back(bench::view_of(tensors.back()));
  }
  const auto function = vm->GetFunction("main", true).value();
  TVMFFIAny result{};
  bench::check(TVMFFIFunctionCall(bench::handle_of(function), args.data(), static_cast<int32_t>(args.size()), &result));
  bench::release(result);
  return bench::peak_memory();
});

}  // namespace
