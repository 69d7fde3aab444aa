#include "program/builder.h"

#include "base/bytes.h"

namespace opd {
namespace {

// Returns a key that is equal for equal constants. Tensors are not compared.
std::string constant_key(const View &value) {
  ByteWriter key;
  key.write(is_text(value) ? int32_t{OPD_STRING} : value.type);
  if (is_text(value)) key.write_string(as_text(value, "constant"));
  else if (value.type == OPD_SHAPE) {
    const auto dims = static_cast<Shape *>(object_of(value))->dims();
    key.write_bytes(dims.data(), dims.size_bytes());
  } else key.write(value.u.int64);
  return key.take();
}

void check_constant(const View &value) {
  constexpr int32_t kTypes[] = {OPD_TENSOR, OPD_SHAPE, OPD_INT, OPD_FLOAT, OPD_DTYPE};
  if (!is_text(value) && !std::ranges::count(kTypes, value.type))
    fail_type("a constant", "a tensor, shape, string, int, float or dtype", value);
}

}  // namespace

FunctionInfo &Builder::current(const char *action) {
  if (current_ < 0) fail(OPD_FAILED_PRECONDITION, "cannot ", action, ": no function was begun");
  return program_->functions[static_cast<size_t>(current_)];
}

void Builder::begin_function(std::string_view name, std::vector<std::string> param_names) {
  if (current_ >= 0)
    fail(OPD_FAILED_PRECONDITION, "cannot begin ", name, ": end ",
         program_->functions[static_cast<size_t>(current_)].name, " first");
  const auto [place, fresh] = functions_.try_emplace(std::string(name), program_->functions.size());
  if (fresh) program_->functions.emplace_back();
  FunctionInfo &function = program_->functions[place->second];
  if (!fresh && function.kind != FunctionKind::kPacked)
    fail(OPD_ALREADY_EXISTS, "the program has a function \"", name, "\" already");
  function.kind = FunctionKind::kBytecode;  // an earlier call has declared it as packed
  function.name = name;
  function.start = function.end = static_cast<int64_t>(next_instruction());
  function.num_args = function.num_registers = static_cast<int64_t>(param_names.size());
  function.param_names = std::move(param_names);
  current_ = static_cast<int64_t>(place->second);
}

void Builder::end_function() {
  current("end a function").end = static_cast<int64_t>(next_instruction());
  current_ = -1;
}

Operand Builder::append_constant(Value value) {
  check_constant(value);
  const auto index = static_cast<int64_t>(program_->constants.size());
  if (value.type() != OPD_TENSOR) constants_.try_emplace(constant_key(value), index);
  program_->constants.push_back(std::move(value));
  return Operand::make(Operand::kConstant, index);
}

Operand Builder::add_constant(const View &value) {
  check_constant(value);
  if (value.type != OPD_TENSOR)
    if (const auto found = constants_.find(constant_key(value)); found != constants_.end())
      return Operand::make(Operand::kConstant, found->second);
  return append_constant(Value(value));
}

Operand Builder::add_function(std::string_view name) {
  const auto [place, fresh] = functions_.try_emplace(std::string(name), program_->functions.size());
  if (fresh) program_->functions.emplace_back().name = name;
  return Operand::make(Operand::kFunction, static_cast<int64_t>(place->second));
}

void Builder::use_register(FunctionInfo &function, int64_t reg) {
  require(reg >= 0, "register ", reg, " does not exist");
  if (reg < kVoidRegister) function.num_registers = std::max(function.num_registers, reg + 1);
}

void Builder::add_instruction(std::initializer_list<int64_t> words) {
  program_->offsets.push_back(static_cast<int64_t>(program_->words.size()));
  program_->words.insert(program_->words.end(), words);
}

void Builder::emit_call(std::string_view callee, std::span<const Operand> args, int64_t dst) {
  FunctionInfo *function = &current("emit a call");
  use_register(*function, dst);
  for (const Operand &arg : args)
    if (arg.kind() == Operand::kRegister) use_register(*function, arg.value());
  const int64_t target = add_function(callee).value();  // may reallocate the function table
  add_instruction({static_cast<int64_t>(Opcode::kCall), dst, target, static_cast<int64_t>(args.size())});
  for (const Operand &arg : args) program_->words.push_back(arg.word);
}

void Builder::emit_ret(int64_t result) {
  use_register(current("emit a ret"), result);
  add_instruction({static_cast<int64_t>(Opcode::kRet), result});
}

void Builder::emit_goto(int64_t offset) {
  current("emit a goto");
  add_instruction({static_cast<int64_t>(Opcode::kGoto), offset});
}

void Builder::emit_if(int64_t condition, int64_t false_offset) {
  use_register(current("emit an if"), condition);
  add_instruction({static_cast<int64_t>(Opcode::kIf), condition, false_offset});
}

void Builder::set_num_registers(int64_t count) {
  FunctionInfo &function = current("set the number of registers");
  function.num_registers = std::max(function.num_registers, count);
}

void Builder::patch(size_t instruction, int64_t target) {
  const auto at = static_cast<size_t>(program_->offsets[instruction]);
  program_->words[program_->words[at] == static_cast<int64_t>(Opcode::kGoto) ? at + 1 : at + 2] = target;
}

Ref<Executable> Builder::get() const {
  if (current_ >= 0)
    fail(OPD_FAILED_PRECONDITION, "function ", program_->functions[static_cast<size_t>(current_)].name,
         " was begun and not ended");
  Ref<Executable> copy = program_->copy();
  verify(*copy);
  return copy;
}

}  // namespace opd
