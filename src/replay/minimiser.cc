#include "replay/minimiser.h"

#include "program/builder.h"
#include "replay/host_functions.h"

namespace opd {
namespace {

// Makes a program that makes one call with its own arguments and returns None. A VM cannot be passed as an argument;
// the program has its own.
Ref<Executable> program_of(const ObservedCall &call) {
  Builder builder;
  std::vector<std::string> params;
  std::vector<Operand> operands;
  for (const View &arg : call.args) {
    if (arg.type == OPD_POINTER) {
      operands.push_back(Operand::make(Operand::kRegister, kVmRegister));
      continue;
    }
    operands.push_back(Operand::make(Operand::kRegister, static_cast<int64_t>(params.size())));
    params.push_back(concat("arg", params.size()));
  }
  const auto result = static_cast<int64_t>(params.size());
  builder.begin_function("main", params);
  builder.emit_call(call.name, operands, kVoidRegister);
  builder.emit_call("vm.builtin.null_value", {}, result);
  builder.emit_ret(result);
  builder.end_function();
  return builder.get();
}

}  // namespace

Minimiser::Minimiser(const std::string &path, const CapturedCall &capture, Module *program) : path_(path), file_(path) {
  file_.add(BlockKind::kAbout, as_text(capture.process_block));
  std::vector<std::string> blocks;
  if (program) write_program(*program, true, false, [&](std::string_view block) { blocks.emplace_back(block); });
  else
    for (const Bytes block : capture.module_blocks) blocks.emplace_back(as_text(block));
  std::vector<KeptModule> modules;
  for (size_t i = 0; i < blocks.size(); ++i) {
    modules.push_back(read_module(as_bytes(blocks[i]), modules, capture.name.c_str()));
    if (i + 1 < blocks.size()) file_.add(BlockKind::kModule, blocks[i]);
  }
  imports_ = modules.back().imports;
  before_call_ = file_.mark();
}

void Minimiser::keep(const ObservedCall &call, const KeptCall &whole, Vm &vm) {
  file_.return_to(before_call_);
  file_.add(BlockKind::kModule, write_program_module(program_of(call)->write(), imports_));
  KeptCall cut;
  cut.function = "main";
  cut.vm = vm.settings();
  cut.has_operators = cut.is_observed = true;
  // The smaller program has the kernels, but no function of the original program.
  const auto name_of = [names = names_in(vm, whole.host_functions), &vm](const Function &function) {
    std::string name = names(function);
    return vm.executable().find(name) ? std::string() : name;
  };
  ValueWriter values(Keeping::kArguments, name_of);
  std::vector<std::string> args;
  for (const View &arg : call.args)
    if (arg.type != OPD_POINTER) args.push_back(values.write(arg));
  cut.num_args = args.size();
  file_.add(BlockKind::kCall, cut.write());
  for (const std::string &arg : args) file_.add(BlockKind::kValue, arg);
  file_.add(BlockKind::kReady, {});
  file_.place();
  kept_ = call.name;
}

void Minimiser::finish(const Error &error) { file_.add(BlockKind::kEnd, write_end(&error, opd_none(), false)); }

void Minimiser::finish(const KeptOperator &captured) {
  file_.add(BlockKind::kOperator, captured.write());
  file_.add(BlockKind::kEnd, write_end(nullptr, opd_none(), false));
}

void Minimiser::remove() { file_.remove(); }

}  // namespace opd
