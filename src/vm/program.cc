#include "vm/program.h"

#include <algorithm>

#include "device/device.h"

namespace opd {
namespace {

// Functions of TVM's runtime that opdyno omits on purpose.
struct Family {
  std::string_view prefix, sentence;
};
constexpr Family kFamilies[] = {
    {"vm.builtin.kv_cache_disagg_", "; the transfer of KV caches between machines is not offered"},
    {"runtime.disco.", "; programs that run in several processes (disco) are not offered"},
};

bool has_prefix(std::string_view names, std::string_view prefix) {
  for (size_t at = 0;;) {
    if (names.substr(at).starts_with(prefix)) return true;
    const size_t end = names.find(", ", at);
    if (end == std::string_view::npos) return false;
    at = end + 2;
  }
}

// Returns clauses that begin with a semicolon. "" if no name belongs to a family.
std::string why_not_offered(std::string_view names) {
  std::string out;
  for (const Family &family : kFamilies)
    if (has_prefix(names, family.prefix)) out += family.sentence;
  return out;
}

}  // namespace

void fail_missing_functions(std::string_view names) {
  fail(OPD_NOT_FOUND,
       "the program needs functions that neither its imported modules nor the global registry offer: ", names,
       why_not_offered(names));
}

bool storage_bytes(std::span<const int64_t> size, DLDataType dtype, uint64_t &out_bytes) {
  return compact_bytes(size, dtype, out_bytes) && out_bytes <= static_cast<uint64_t>(INT64_MAX);
}

class Decoder {
 public:
  Decoder(Program &program, const Program::Find &find, const std::function<Ref<Function>(uint32_t)> &value_of)
      : p_(program), x_(*program.executable), find_(find), value_of_(value_of) {}

  void run() {
    resolve();
    lay_out_cells();
    p_.arg_store_ = std::make_unique_for_overwrite<uint32_t[]>(x_.words.size() + 1);
    next_arg_ = p_.arg_store_.get();
    p_.code.resize(x_.offsets.size());
    p_.callee_of.resize(x_.offsets.size());
    for (auto &function : p_.functions)
      if (function.info && function.info->kind == FunctionKind::kBytecode) decode(function);
  }

 private:
  enum class Known : uint8_t { kNone, kStorage, kTensor, kNull };
  struct Callee {
    Known known = Known::kNone;
    SafeCall call = nullptr;
    void *self = nullptr;
    bool kernel = false;
    bool compiled = false;  // a kernel, or other code that gets plain DLTensors
  };

  void resolve() {
    const size_t count = x_.functions.size();
    p_.callees.resize(count);
    p_.functions.resize(count);
    p_.bodies.resize(count);
    callees_.resize(count);
    std::vector<std::string_view> missing;
    for (size_t i = 0; i < count; ++i) {
      const FunctionInfo &info = x_.functions[i];
      if (info.kind != FunctionKind::kPacked) {
        const auto start = static_cast<uint32_t>(info.start), end = static_cast<uint32_t>(info.end);
        p_.functions[i] = {
            &info, start, end, static_cast<uint32_t>(info.num_args), static_cast<uint32_t>(info.num_registers), start,
            {},    {},    true};
        p_.index_of.try_emplace(info.name, static_cast<uint32_t>(i));
        p_.num_registers = std::max(p_.num_registers, p_.functions[i].num_registers);
        if (info.kind == FunctionKind::kBytecode) continue;
        p_.callees[i] = value_of_(static_cast<uint32_t>(i));
        p_.bodies[i] = body_of(info.name);
      } else {
        p_.callees[i] = find_(info.name);
      }
      const bool is_here = p_.callees[i] && (info.kind == FunctionKind::kPacked || p_.bodies[i]);
      if (!is_here) missing.push_back(info.name);
      else callees_[i] = classify(info.name, *p_.callees[i]);
    }
    if (!missing.empty()) fail_missing_functions(joined(missing));
  }

  // Returns the machine code of a compiled function, which only a library can contain.
  Ref<KernelFunction> body_of(const std::string &name) const {
    const auto function = find_(concat("__vmtir__", name));
    return Ref<KernelFunction>::share(function ? as_kernel(*function) : nullptr);
  }

  static Callee classify(std::string_view name, Function &function) {
    Callee callee{Known::kNone, function.safe_call, &function, false, false};
    if (const auto *kernel = as_kernel(function)) return {Known::kNone, kernel->raw, nullptr, true, true};
    if (const auto *typed = as_typed(function)) return {Known::kNone, typed->raw, nullptr, false, true};
    if (name == "vm.builtin.alloc_storage") callee.known = Known::kStorage;
    if (name == "vm.builtin.alloc_tensor") callee.known = Known::kTensor;
    if (name == "vm.builtin.null_value") callee.known = Known::kNull;
    if (name == "vm.builtin.call_tir_dyn") callee.compiled = true;  // calls the kernel in its arguments
    return callee;
  }

  void lay_out_cells() {
    p_.constants.reserve(x_.constants.size());
    for (const auto &constant : x_.constants) p_.constants.push_back(constant.view());
    // Immediates get their registers first, because those of function values come after them.
    for (size_t pc = 0; pc < x_.offsets.size(); ++pc) {
      const Instruction in = x_.instruction(pc);
      if (in.op != Opcode::kCall) continue;
      p_.max_args = std::max(p_.max_args, static_cast<uint32_t>(in.args.size()));
      for (const int64_t word : in.args) {
        const Operand operand{word};
        if (operand.kind() == Operand::kImmediate) immediate(operand.value());
      }
    }
  }

  uint32_t immediate(int64_t value) {
    if (value >= 0 && value < kSmall) {
      uint32_t &reg = small_[static_cast<size_t>(value)];
      if (!reg) reg = add_immediate(value);
      return reg;
    }
    const auto [place, fresh] = immediates_.try_emplace(value, 0);
    if (fresh) place->second = add_immediate(value);
    return place->second;
  }

  uint32_t add_immediate(int64_t value) {
    p_.constants.push_back(opd_int(value));
    return p_.first_constant() + static_cast<uint32_t>(p_.constants.size()) - 1;
  }

  uint32_t function_value(uint32_t index) {
    const auto [place, fresh] = function_values_.try_emplace(index, static_cast<uint32_t>(p_.function_values.size()));
    if (fresh) p_.function_values.push_back(index);
    return p_.first_constant() + static_cast<uint32_t>(p_.constants.size()) + place->second;
  }

  uint32_t register_index(int64_t reg) const {
    if (reg < kVoidRegister) return static_cast<uint32_t>(reg);
    return reg == kVmRegister ? p_.vm_register() : p_.void_register();
  }

  uint32_t operand_register(Operand operand) {
    if (operand.kind() == Operand::kRegister) return register_index(operand.value());
    if (operand.kind() == Operand::kImmediate) return immediate(operand.value());
    if (operand.kind() == Operand::kConstant) return p_.first_constant() + static_cast<uint32_t>(operand.value());
    return function_value(static_cast<uint32_t>(operand.value()));
  }

  const View *constant_at(uint32_t reg) const {
    const uint32_t first = p_.first_constant();
    return reg >= first && reg - first < p_.constants.size() ? &p_.constants[reg - first] : nullptr;
  }

  void decode(Program::Func &f) {
    const std::vector<bool> unproved = unproved_reads(x_, *f.info);
    f.borrowed.assign(f.num_args, true);
    unwritten_.assign(f.num_registers, false);
    for (uint32_t pc = f.start; pc < f.end; ++pc) {
      const Instruction in = x_.instruction(pc);
      Instr &instr = p_.code[pc];
      if (unproved[pc - f.start]) instr.checks |= kReadsUnset;
      if (in.op == Opcode::kCall) decode_call(f, pc, in, instr);
      if (in.op == Opcode::kRet) instr.op = Op::kRet, instr.reg = register_index(in.reg);
      if (in.op == Opcode::kGoto) instr.op = Op::kGoto, instr.offset = in.target;
      if (in.op == Opcode::kIf) instr.op = Op::kIf, instr.reg = register_index(in.reg), instr.offset = in.target;
    }
    // The function does not own a borrowed parameter, so overwriting it with None must not end a reference.
    for (uint32_t pc = f.start; pc < f.end; ++pc)
      if (Instr &instr = p_.code[pc]; instr.op == Op::kNull && instr.reg < f.num_args && f.borrowed[instr.reg])
        instr.op = Op::kForgetBorrowed;
  }

  void decode_call(Program::Func &f, uint32_t pc, const Instruction &in, Instr &instr) {
    const auto target = static_cast<size_t>(in.target);
    const Callee &callee = callees_[target];
    p_.callee_of[pc] = static_cast<uint32_t>(target);
    instr.reg = in.reg < kVoidRegister ? static_cast<uint32_t>(in.reg) : p_.void_register();
    instr.num_args = static_cast<uint16_t>(in.args.size());
    uint32_t *registers = next_arg_;
    if (in.args.size() <= 2) registers = instr.inline_args;
    else instr.args = registers, next_arg_ += in.args.size();
    for (size_t i = 0; i < in.args.size(); ++i) registers[i] = operand_register({in.args[i]});
    find_writes(callee, in, instr);
    // The void register must stay None, so a call with a discarded result is not folded.
    if (callee.known != Known::kNone && instr.reg != p_.void_register() && fold(callee.known, registers, instr)) {
      if (callee.known == Known::kNull) return;  // a parameter that is only overwritten with None stays borrowed
    } else if (!callee.call) {
      instr.op = Op::kProgram;
      instr.callee = target;
    } else {
      instr.op = callee.kernel ? Op::kKernel : Op::kPacked;
      instr.call = callee.call;
      instr.self = callee.self;
    }
    if (instr.reg < f.num_args) f.borrowed[instr.reg] = f.all_borrowed = false;
  }

  // A program makes the output tensors of a compiled function just before the call. A call without such a tensor can
  // only write its inputs, which then must not be read-only. A tensor counts as unwritten until the first call that
  // takes it, in the order of the text. Branches can only make this rule stricter.
  void find_writes(const Callee &callee, const Instruction &in, Instr &instr) {
    bool has_output = false;
    for (const int64_t word : in.args) {
      const Operand operand{word};
      if (operand.kind() != Operand::kRegister || operand.value() >= kVoidRegister) continue;
      std::vector<bool>::reference unwritten = unwritten_[static_cast<size_t>(operand.value())];
      has_output |= unwritten;
      unwritten = false;
    }
    if (callee.compiled && !has_output) instr.checks |= kWritesInPlace;
    if (in.reg < kVoidRegister) unwritten_[static_cast<size_t>(in.reg)] = callee.known == Known::kTensor;
  }

  // Turns a builtin with constant operands into a single instruction.
  bool fold(Known known, const uint32_t *registers, Instr &instr) {
    if (known == Known::kNull) return instr.op = Op::kNull, instr.num_args == 0;
    return known == Known::kStorage ? fold_storage(registers, instr) : fold_tensor(registers, instr);
  }

  // alloc_storage(vm, size, device index, dtype, scope)
  bool fold_storage(const uint32_t *registers, Instr &instr) {
    if (instr.num_args < 4 || registers[0] != p_.vm_register()) return false;
    const View *size = constant_at(registers[1]), *device = constant_at(registers[2]),
               *dtype = constant_at(registers[3]);
    if (!size || size->type != OPD_SHAPE || !device || device->type != OPD_INT || !dtype || dtype->type != OPD_DTYPE)
      return false;
    if (instr.num_args > 4) {
      const View *scope = constant_at(registers[4]);
      if (!scope || !is_text(*scope) || as_text(*scope, "scope") != "global") return false;
    }
    uint64_t bytes;
    if (!storage_bytes(static_cast<Shape *>(object_of(*size))->dims(), dtype->u.dtype, bytes)) return false;
    const StorageKind kind{bytes, device->u.int64};
    const auto [place, fresh] = size_classes_.try_emplace(kind, p_.storage_kinds.size());
    if (fresh) p_.storage_kinds.push_back(kind);
    instr.op = Op::kStorage;
    instr.size_class = place->second;
    return true;
  }

  // alloc_tensor(storage, offset, shape, dtype[, vdevice or scope])
  bool fold_tensor(const uint32_t *registers, Instr &instr) {
    if (instr.num_args != 4) return false;
    const uint32_t storage = registers[0];
    const View *offset = constant_at(registers[1]), *shape = constant_at(registers[2]),
               *dtype = constant_at(registers[3]);
    if (!offset || offset->type != OPD_INT || offset->u.int64 < 0 || offset->u.int64 % kAlignment || !shape ||
        shape->type != OPD_SHAPE || !dtype || dtype->type != OPD_DTYPE)
      return false;
    // The compiler shares constants, so a pair of constants identifies a template.
    const TensorTemplate *&found = template_of_[uint64_t{registers[2]} << 32 | registers[3]];
    if (!found) found = make_template(*static_cast<Shape *>(object_of(*shape)), dtype->u.dtype);
    if (!found) return false;
    instr.op = Op::kTensor;
    instr.shape = found;
    instr.bytes = static_cast<uint64_t>(offset->u.int64);
    instr.inline_args[0] = storage;
    instr.num_args = 1;
    return true;
  }

  const TensorTemplate *make_template(const Shape &shape, DLDataType dtype) {
    auto made = TensorTemplate::make(shape.dims(), dtype, static_cast<uint32_t>(p_.templates.size()));
    if (!made) return nullptr;
    p_.templates.push_back(std::move(made));
    return p_.templates.back().get();
  }

  static constexpr int64_t kSmall = 256;
  Program &p_;
  const Executable &x_;
  const Program::Find &find_;
  const std::function<Ref<Function>(uint32_t)> &value_of_;
  std::vector<Callee> callees_;
  // by register of the function being decoded: holds a new tensor that no call has taken yet
  std::vector<bool> unwritten_;
  std::unordered_map<int64_t, uint32_t> immediates_;
  std::unordered_map<uint32_t, uint32_t> function_values_;
  std::unordered_map<StorageKind, size_t, StorageKind::Hash> size_classes_;
  std::unordered_map<uint64_t, const TensorTemplate *> template_of_;
  uint32_t small_[kSmall] = {};
  uint32_t *next_arg_ = nullptr;
};

std::unique_ptr<Program> Program::decode(Ref<Executable> executable, const Find &find,
                                         const std::function<Ref<Function>(uint32_t)> &value_of) {
  auto program = std::make_unique<Program>();
  program->executable = std::move(executable);
  Decoder(*program, find, value_of).run();
  return program;
}

}  // namespace opd
