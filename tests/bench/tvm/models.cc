// The peer of ../models.cc.
#include "../harness.h"
#include "../model_calls.h"
#include "tvm.h"

namespace {

namespace ffi = tvm::ffi;

struct Call {
  ffi::Function function;
  std::vector<ffi::Tensor> tensors;
  std::vector<TVMFFIAny> args;
};

TVMFFIAny value_of(const bench::ModelArgument &argument, std::vector<ffi::Tensor> &tensors) {
  using Kind = bench::ModelArgument::Kind;
  if (argument.kind == Kind::kTensor) {
    const DLDataType dtype{static_cast<uint8_t>(argument.code), static_cast<uint8_t>(argument.bits), 1};
    tensors.push_back(ffi::Tensor::FromNDAlloc(bench::Memory(), ffi::Shape(argument.dims.begin(), argument.dims.end()),
                                               dtype, DLDevice{kDLCPU, 0}));
    std::copy(argument.bytes.begin(), argument.bytes.end(), static_cast<char *>(tensors.back().data_ptr()));
    return bench::view_of(tensors.back());
  }
  TVMFFIAny value{};
  value.type_index = argument.kind == Kind::kFloat  ? kTVMFFIFloat
                     : argument.kind == Kind::kBool ? kTVMFFIBool
                                                    : kTVMFFIInt;
  if (argument.kind == Kind::kFloat) value.v_float64 = argument.number;
  else value.v_int64 = argument.integer;
  return value;
}

bench::Sampler time_of(const bench::ModelCalls &model) {
  const ffi::Module vm = bench::make_vm(ffi::Module::LoadFromFile(model.library));
  std::vector<Call> calls;
  for (const bench::ModelCall &recorded : model.calls) {
    Call &call = calls.emplace_back(Call{vm->GetFunction(recorded.function, true).value(), {}, {}});
    for (const auto &argument : recorded.args) call.args.push_back(value_of(argument, call.tensors));
  }
  return bench::timed(1000, [vm, calls](int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      for (const Call &call : calls) {
        TVMFFIAny result{};
        bench::check(TVMFFIFunctionCall(bench::handle_of(call.function), const_cast<TVMFFIAny *>(call.args.data()),
                                        static_cast<int32_t>(call.args.size()), &result));
        bench::release(result);
      }
  });
}

const bench::AddRows models([] { bench::add_model_rows(time_of); });

}  // namespace
