// What the models of tests/interop cost from C: each recorded call once.
#include <opdyno/opdyno.hpp>

#include "model_calls.h"

namespace {

struct Call {
  opdyno::Function function;
  std::vector<opdyno::Tensor> tensors;
  std::vector<opd_value> args;
};

opd_value value_of(const bench::ModelArgument &argument, std::vector<opdyno::Tensor> &tensors) {
  using Kind = bench::ModelArgument::Kind;
  if (argument.kind == Kind::kInt) return opd_int(argument.integer);
  if (argument.kind == Kind::kBool) return opd_bool(argument.integer != 0);
  if (argument.kind == Kind::kFloat) return opd_float(argument.number);
  const DLDataType dtype{static_cast<uint8_t>(argument.code), static_cast<uint8_t>(argument.bits), 1};
  tensors.emplace_back(argument.dims, dtype);
  tensors.back().copy_from_bytes(argument.bytes.data(), argument.bytes.size());
  return opdyno::arg(tensors.back());
}

bench::Sampler time_of(const bench::ModelCalls &model) {
  const opdyno::Vm vm(opdyno::Module::load(model.library));
  std::vector<Call> calls;
  for (const bench::ModelCall &recorded : model.calls) {
    Call &call = calls.emplace_back(Call{vm.function(recorded.function.c_str()), {}, {}});
    for (const auto &argument : recorded.args) call.args.push_back(value_of(argument, call.tensors));
  }
  return bench::timed(1000, [vm, calls](int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      for (const Call &call : calls) {
        opd_value result = opd_none();
        opdyno::check(
            opd_function_call(call.function.get(), call.args.data(), static_cast<int32_t>(call.args.size()), &result));
        opd_value_release(&result);
      }
  });
}

const bench::AddRows models([] { bench::add_model_rows(time_of); });

}  // namespace
