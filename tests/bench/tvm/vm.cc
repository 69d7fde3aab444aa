// The peers of ../vm_calls.cc, ../chain.cc and ../executable.cc: the same programs in TVM's VM.
#include "../harness.h"
#include "../vm_program.h"
#include "tvm.h"

extern "C" int opdyno_bench_register_nop();

namespace {

namespace ffi = tvm::ffi;

ffi::Module read_executable(const std::string &bytes) {
  static const auto load = ffi::Function::GetGlobalRequired("ffi.Module.load_from_bytes.relax.VMExecutable");
  return load(ffi::Bytes(bytes)).cast<ffi::Module>();
}

bench::Sampler time_of_calls(const ffi::Module &vm, const std::vector<ffi::Tensor> &tensors, double divisor) {
  const auto function = vm->GetFunction("main", true).value();
  return bench::timed(divisor, [=](int64_t n) {
    std::vector<TVMFFIAny> args;
    for (const auto &tensor : tensors) args.push_back(bench::view_of(tensor));
    for (int64_t i = 0; i < n; ++i) {
      TVMFFIAny result{};
      bench::check(
          TVMFFIFunctionCall(bench::handle_of(function), args.data(), static_cast<int32_t>(args.size()), &result));
      bench::release(result);
    }
  });
}

ffi::Module nop_vm(bench::VmProgram program) {
  bench::check(opdyno_bench_register_nop());
  return bench::make_vm(read_executable(bench::read_file(program.file(bench::settings().programs))));
}

bench::Sampler time_of(const ffi::Module &vm, double divisor) {
  std::vector<ffi::Tensor> tensors;
  for (int i = 0; i < bench::kParams; ++i) tensors.push_back(bench::make_tensor({4}));
  return time_of_calls(vm, tensors, divisor);
}
bench::Sampler time_of(bench::VmProgram program, double divisor) { return time_of(nop_vm(program), divisor); }

const bench::AddRow none("vm_instruction_0", "ns", [] { return time_of({1000, 0}, 1000); });
const bench::AddRow one("vm_instruction_1", "ns", [] { return time_of({1000, 1}, 1000); });
const bench::AddRow four("vm_instruction_4", "ns", [] { return time_of({1000, 4}, 1000); });

const bench::AddRow function("vm_function_call", "ns", [] { return time_of({1, 4}, 1); });

const bench::AddRow instrument("vm_instrument", "ns", [] {
  const auto vm = nop_vm({1000, 1});
  const auto set = vm->GetFunction("set_instrument", true).value();
  const auto watcher = ffi::Function::GetGlobalRequired(bench::kNop);
  const bench::Sampler time = time_of(vm, 2 * 1000);
  const bench::Sampler plain_time = time_of(nop_vm({1000, 1}), 2 * 1000);
  set(watcher);
  return [=] { return time() - plain_time(); };
});

ffi::Module chain() { return ffi::Module::LoadFromFile(bench::artifact("chain_1000")); }

const bench::AddRow plain("chain", "ns",
                          [] { return time_of_calls(bench::make_vm(chain()), {bench::make_tensor({4})}, 1000); });

const bench::AddRow compiled("chain_compiled", "ns", [] {
  const auto library = ffi::Module::LoadFromFile(bench::artifact(bench::kCompiledChain));
  return time_of_calls(bench::make_vm(library), {bench::make_tensor({4})}, 1000);
});

const bench::AddRow read("executable_read", "us", [] {
  const std::string bytes = chain()->SaveToBytes();
  return bench::timed(1000, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) read_executable(bytes);
  });
});

const bench::AddRow create("vm_create", "us", [] {
  const auto library = chain();
  return bench::timed(1000, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) bench::make_vm(library);
  });
});

}  // namespace
