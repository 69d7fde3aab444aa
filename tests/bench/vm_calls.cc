// What a VM instruction costs, and what the call of a function of one instruction does. The callee is a no-op in C.
#include <array>
#include <fstream>
#include <opdyno/opdyno.hpp>

#include "harness.h"
#include "vm_program.h"

namespace {

using opdyno::check;

opd_error *nop(void *, const opd_value *, int32_t, opd_value *) { return nullptr; }

void register_nop() {
  opdyno::Function function;
  check(opd_function_create(nop, nullptr, nullptr, function.out()));
  check(opd_function_register(bench::kNop, function.get(), 1));
}

opd_error *emit(opd_executable_builder *builder, const opd_instruction &instruction) {
  return opd_executable_builder_emit(builder, &instruction);
}

// main(a, b, c, d): calls of the no-op with the first of them.
opdyno::Executable program(bench::VmProgram shape) {
  opdyno::Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  const char *names[] = {"a", "b", "c", "d"};
  std::array<opd_operand, bench::kParams> args;
  for (size_t i = 0; i < args.size(); ++i) args[i] = opd_operand_register(static_cast<int64_t>(i));
  check(opd_executable_builder_begin_function(builder.get(), "main", bench::kParams, names));
  for (int i = 0; i < shape.calls; ++i)
    check(emit(builder.get(), opd_instruction_call(bench::kNop, args.data(), shape.args, OPD_REGISTER_VOID)));
  check(emit(builder.get(), opd_instruction_ret(OPD_REGISTER_VOID)));
  check(opd_executable_builder_end_function(builder.get()));
  opdyno::Executable executable;
  check(opd_executable_builder_get(builder.get(), executable.out()));
  return executable;
}

struct NopVm {
  opdyno::Vm vm;
  opdyno::Function main;
  std::vector<opdyno::Tensor> tensors;

  explicit NopVm(bench::VmProgram shape) {
    register_nop();
    const opdyno::Executable executable = program(shape);
    if (!bench::settings().programs.empty())
      std::ofstream(shape.file(bench::settings().programs), std::ios::binary) << executable.save();
    vm = opdyno::Vm(executable.to_module());
    main = vm.function("main");
    for (int i = 0; i < bench::kParams; ++i) tensors.emplace_back(std::vector<int64_t>{4}, "float32");
  }
  bench::Sampler time(double divisor) const {
    std::vector<opd_value> args;
    for (const auto &tensor : tensors) args.push_back(opdyno::arg(tensor));
    return bench::timed(divisor, [copy = *this, args](int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        opd_value result = opd_none();
        check(opd_function_call(copy.main.get(), args.data(), bench::kParams, &result));
      }
    });
  }
};

bench::Sampler time_of(bench::VmProgram shape, double divisor) { return NopVm(shape).time(divisor); }

const bench::AddRow none("vm_instruction_0", "ns", [] { return time_of({1000, 0}, 1000); });
const bench::AddRow one("vm_instruction_1", "ns", [] { return time_of({1000, 1}, 1000); });
const bench::AddRow four("vm_instruction_4", "ns", [] { return time_of({1000, 4}, 1000); });

const bench::AddRow function("vm_function_call", "ns", [] { return time_of({1, 4}, 1); });

// The same call by name, of the last of 2,000 functions.
const bench::AddRow named("vm_call_named", "ns", [] {
  constexpr int kFunctions = 2000;
  register_nop();
  opdyno::Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  const auto name_of = [](int i) { return "function_" + std::to_string(i); };
  for (int i = 0; i < kFunctions; ++i) {
    check(opd_executable_builder_begin_function(builder.get(), name_of(i).c_str(), 0, nullptr));
    check(emit(builder.get(), opd_instruction_call(bench::kNop, nullptr, 0, OPD_REGISTER_VOID)));
    check(emit(builder.get(), opd_instruction_ret(OPD_REGISTER_VOID)));
    check(opd_executable_builder_end_function(builder.get()));
  }
  opdyno::Executable executable;
  check(opd_executable_builder_get(builder.get(), executable.out()));
  return bench::timed(1, [vm = opdyno::Vm(executable.to_module()), name = name_of(kFunctions - 1)](int64_t n) {
    for (int64_t i = 0; i < n; ++i) check(opd_vm_call(vm.get(), name.c_str(), nullptr, 0, nullptr, nullptr));
  });
});

// Per callback; each instruction makes two.
const bench::AddRow instrument("vm_instrument", "ns", [] {
  const NopVm nops({1000, 1});
  opdyno::Function watcher;
  check(opd_function_create(nop, nullptr, nullptr, watcher.out()));
  const bench::Sampler time = nops.time(2 * 1000);
  return [=] {
    const double plain = time();
    check(opd_vm_set_instrument(nops.vm.get(), watcher.get()));
    const double watched = time();
    check(opd_vm_set_instrument(nops.vm.get(), nullptr));
    return watched - plain;
  };
});

// What telemetry adds to a call, or with `per_operator` to each operator of one. It runs by itself, and nobody asks for
// the metrics, so its thread reads the events meanwhile.
bench::Sampler telemetry(bench::VmProgram shape, int32_t per_operator) {
  const NopVm nops(shape);
  const bench::Sampler time = nops.time(shape.calls);
  return [=] {
    const double plain = time();
    auto options = opdyno::defaults(opd_telemetry_options_init);
    options.prometheus_address = "127.0.0.1:0";
    options.per_operator = per_operator;
    const opdyno::Telemetry running(&options);
    return time() - plain;
  };
}
const bench::AddRow telemetry_call("telemetry_call", "ns", [] { return telemetry({1, 4}, 0); });
const bench::AddRow telemetry_operator("telemetry_operator", "ns", [] { return telemetry({1000, 4}, 1); });

}  // namespace
