// The interpreter. Everything was verified and decoded before: the loop checks only what depends on values.
// Cost: see tests/bench/vm_calls.cc and chain.cc; a compiled kernel's call adds a few loads and the copy of its
// arguments.
#include "vm/instrument.h"
#include "vm/residents.h"
#include "vm/run.h"
#include "vm/vm.h"

namespace opd {
namespace {

// A builtin that became an instruction of its own.
constexpr bool is_folded(Op op) {
  return op == Op::kStorage || op == Op::kTensor || op == Op::kNull || op == Op::kForget;
}

struct Site {  // where in the program something happened
  const Run &run;
  const Frame &frame;
  const Instr &instr;
  size_t pc() const { return run.program->pc_of(&instr); }
  const std::string &callee() const { return run.program->callee_name(pc()); }
  const std::string &function() const { return frame.function->info->name; }
  std::string text() const { return concat(function(), ", instruction ", pc() - frame.function->start); }
};

// The error that a callee raised, with its name in front (builtins have said theirs) and the place; errors that have
// one already pass as they are.
[[gnu::noinline]] Ref<Error> located(const Site &site, Ref<Error> error) {
  if (error->located) return error;
  const std::string callee = concat(site.callee(), ": ");
  const bool says_callee = error->message.starts_with(callee);
  auto named = make_error(error->code,
                          concat(says_callee ? "" : callee.c_str(), error->message, " (called by ", site.text(), ")"),
                          error->kind);
  if (named->code == error->code && named->code != OPD_OUT_OF_MEMORY) {  // else it may be the shared one
    named->located = true;
    named->set_cause(std::move(error));
  }
  return named;
}

[[noreturn, gnu::noinline]] void stopped(const Site &site, StopReason reason) {
  const std::string before = site.instr.op == Op::kGoto ? "a backward jump" : site.callee();
  auto error = make_stop_error(reason, concat(before, " (", site.text(), ")"));
  error->located = true;
  throw Exception(std::move(error));
}

[[noreturn, gnu::noinline]] void unset_read(const Site &site, uint32_t reg) {
  const bool calls = site.instr.op != Op::kRet && site.instr.op != Op::kIf;
  fail(OPD_BAD_FORMAT, "register %", reg, " is read before it is written in ", site.text(), calls ? ", a call of " : "",
       calls ? site.callee() : "");
}

[[noreturn, gnu::noinline]] void bad_storage(const Site &site, const View &value) {
  fail_as("TypeError", OPD_INVALID_ARGUMENT, "vm.builtin.alloc_tensor: storage must be a storage, but is ",
          type_key(value.type), " (called by ", site.text(), ")");
}

[[noreturn, gnu::noinline]] void small_storage(const Site &site, uint64_t offset, uint64_t bytes, uint64_t size) {
  fail(OPD_INVALID_ARGUMENT, "vm.builtin.alloc_tensor: a tensor of ", bytes, " bytes at offset ", offset,
       " does not fit a storage of ", size, " bytes (called by ", site.text(), ")");
}

[[gnu::noinline]] bool condition(const Site &site, const View &v) {
  if (v.type == OPD_INT || v.type == OPD_BOOL) return v.u.int64 != 0;
  fail_as("TypeError", OPD_INVALID_ARGUMENT, "the condition must be int or bool, but is ", type_key(v.type), " (",
          site.text(), ")");
}

// Kernels take text as plain C strings only; everything else that is an object is refused. Leaves `storage` alive.
[[gnu::noinline]] void convert_kernel_args(const Site &site, View *args, size_t count,
                                           std::vector<std::string> &storage) {
  storage.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (is_text(args[i])) {
      if (args[i].type == OPD_CSTRING) continue;
      storage.emplace_back(as_text(args[i], "argument"));
      args[i] = opd_cstring(storage.back().c_str());
    } else if (is_object(args[i]) && args[i].type != OPD_TENSOR) {
      fail_as("TypeError", OPD_INVALID_ARGUMENT, site.callee(), ": argument ", i, " is ", type_key(args[i].type),
              "; a compiled kernel takes tensors, numbers, strings and None only (called by ", site.text(), ")");
    }
  }
}

// Pops what a run pushed, also when an error passes.
class FrameScope {
 public:
  explicit FrameScope(Run &run) : run_(run), base_(run.depth) {}
  ~FrameScope() {
    while (run_.depth > base_) pop();
  }

  size_t base() const { return base_; }
  void pop() {
    Frame &frame = *run_.frames[run_.depth - 1];
    const Program::Func &function = *frame.function;
    View *cells = frame.cells.data();
    for (uint32_t i = 0; i < function.num_args; ++i) {
      if (!function.borrowed[i] && is_object(cells[i])) run_.pool.drop(object_of(cells[i]));
      cells[i].type = kUnset;
    }
    for (uint32_t i = function.num_args; i < function.num_registers; ++i) {
      const View old = cells[i];
      cells[i].type = kUnset;
      if (is_object(old)) run_.pool.drop(object_of(old));
    }
    --run_.depth;
  }

 private:
  Run &run_;
  const size_t base_;
};

class Interpreter {
 public:
  explicit Interpreter(Run &run) : run_(run), program_(*run.program), code_(program_.code.data()), scope_(run) {}

  template <bool kListen>
  View execute(uint32_t index, Args args);

 private:
  Site site(const Instr &instr) const { return {run_, *frame_, instr}; }

  void assign(uint32_t cell, View value) {
    const View old = cells_[cell];
    cells_[cell] = value;
    if (is_object(old)) run_.pool.drop(object_of(old));
  }

  // Parameters that the function overwrites are its own; all others are borrowed from the caller.
  void enter(const Program::Func &function, const View *args) {
    if (run_.depth >= static_cast<size_t>(run_.vm->max_depth()))
      fail_as("RecursionError", OPD_OUT_OF_RANGE, "calls are nested more than ", run_.vm->max_depth(),
              " deep, at function ", function.info->name);
    Frame &frame = run_.push();
    frame.function = &function;
    frame.return_to = nullptr;
    View *const cells = frame.cells.data();
    std::copy_n(args, function.num_args, cells);
    if (!function.all_borrowed) [[unlikely]]
      for (uint32_t i = 0; i < function.num_args; ++i)
        if (!function.borrowed[i] && is_object(args[i])) retain(object_of(args[i]));
    frame_ = &frame;
    cells_ = cells;
    scratch_ = frame.args();
  }

  void check_reads(const Instr &instr) const {
    if (instr.op == Op::kRet || instr.op == Op::kIf) {
      if (cells_[instr.cell].type == kUnset) unset_read(site(instr), instr.cell);
      return;
    }
    const uint32_t *cells = instr.arg_cells();
    for (uint32_t i = 0; i < instr.num_args; ++i)
      if (cells_[cells[i]].type == kUnset) unset_read(site(instr), cells[i]);
  }

  void check_stop(const Instr &instr) const {
    const StopReason reason = run_.stop.load(std::memory_order_relaxed);
    if (reason != StopReason::kNone) [[unlikely]]
      stopped(site(instr), reason);
  }

  void record(const Instr &instr, uint64_t begin, uint64_t end, Args args) {
    RecordBuffer &buffer = *run_.records;
    const size_t pc = program_.pc_of(&instr);
    Record *r = buffer.describe(args, pc);
    if (!r) return;
    r->begin = begin;
    r->end = end;
    r->name = program_.callee_of[pc];
    r->location = static_cast<uint32_t>(pc);
    r->depth = static_cast<uint32_t>(run_.depth);
    r->run = run_.record_run;
    buffer.commit();
  }

  // The three give false when the callee raised an error; it is in run.failure then.
  template <bool kListen, bool kKernel>
  bool call(const Instr &instr) {
    check_stop(instr);
    const uint32_t *from = instr.arg_cells();
    const uint32_t count = instr.num_args;
    bool plain = true;
    for (uint32_t i = 0; i < count; ++i) {
      const View v = cells_[from[i]];
      scratch_[i] = v;
      if (kKernel) plain &= v.type < OPD_SMALL_STRING || v.type == OPD_TENSOR;
    }
    if (kListen && run_.instrument && !show_before(instr, count)) return skip(instr), true;
    if (kKernel && !plain) [[unlikely]]
      return call_converted<kListen>(instr);
    return finish_call<kListen, kKernel>(instr);
  }

  template <bool kListen>
  [[gnu::noinline]] bool call_converted(const Instr &instr) {
    std::vector<std::string> storage;
    convert_kernel_args(site(instr), scratch_, instr.num_args, storage);
    return finish_call<kListen, true>(instr);
  }

  template <bool kListen, bool kKernel>
  bool finish_call(const Instr &instr) {
    const uint32_t count = instr.num_args;
    run_.current.store(&instr, std::memory_order_relaxed);
    View result = opd_none();
    const bool recorded = kListen && run_.records;
    uint64_t begin = 0;
    if (recorded) begin = run_.records->begin_call({scratch_, count});
    const int failed = instr.call(kKernel ? nullptr : instr.self, scratch_, static_cast<int32_t>(count), &result);
    if (failed) [[unlikely]] {
      run_.failure = located(site(instr), take_raised());
      return false;
    }
    if (recorded) {
      const uint64_t end = run_.records->end_call(begin, {scratch_, count});
      record(instr, begin, end, {scratch_, count});
    }
    if (kListen && run_.instrument) show_owned_result(count, result);
    if (instr.cell != program_.void_cell()) assign(instr.cell, result);
    else if (is_object(result)) run_.pool.drop(object_of(result));
    return true;
  }

  // The arguments of a folded call as the program has them, into the scratch; gives their number.
  size_t folded_arguments(const Instr &instr) {
    size_t count = 0;
    for (const int64_t word : program_.executable->instruction(program_.pc_of(&instr)).args) {
      const Operand operand{word};
      View &arg = scratch_[count++];
      if (operand.kind() == Operand::kImmediate) arg = opd_int(operand.value());
      else if (operand.kind() == Operand::kConstant) arg = program_.constants[static_cast<size_t>(operand.value())];
      else if (operand.kind() == Operand::kFunction)
        arg = run_.vm->function_value(static_cast<uint32_t>(operand.value()));
      else if (operand.value() < kVoidRegister) arg = cells_[operand.value()];
      else arg = operand.value() == kVmRegister ? cells_[program_.vm_cell()] : opd_none();
      if (arg.type == kUnset) arg = opd_none();
    }
    return count;
  }

  // The instrument sees the arguments where they lie, in the scratch. False if it wants the call to be skipped.
  bool show_before(const Instr &instr, size_t count) {
    View *head = scratch_ - kInstrumentHead;
    const uint32_t callee = program_.callee_of[program_.pc_of(&instr)];
    head[0] = run_.vm->function_value(callee);
    head[1] = opd_cstring(program_.executable->functions[callee].name.c_str());
    return instrument_before(run_, {head, kInstrumentHead + count});
  }
  void show_after(size_t count, const View &result) {
    instrument_after(run_, {scratch_ - kInstrumentHead, kInstrumentHead + count}, result);
  }
  void show_owned_result(size_t count, View result) {
    Value kept = Value::take(result);  // should the instrument throw
    show_after(count, result);
    kept.detach();
  }
  void skip(const Instr &instr) {
    if (instr.cell != program_.void_cell()) assign(instr.cell, opd_none());
  }

  void make_tensor(const Instr &instr) {
    const View &value = cells_[instr.inline_args[0]];
    if (value.type != storage_type_) [[unlikely]]
      bad_storage(site(instr), value);
    auto *storage = static_cast<VmStorage *>(object_of(value));
    const uint64_t room = storage->size, bytes = instr.shape->bytes;
    if (bytes > room || instr.bytes > room - bytes) [[unlikely]]
      small_storage(site(instr), instr.bytes, bytes, room);
    assign(instr.cell, view_of(run_.pool.tensor(*instr.shape, storage, instr.bytes)));
  }

  // An instrument is shown every instruction of the program, so then there is no plan.
  template <bool kListen>
  const Instr *start_of(const Program::Func &function) const {
    return code_ + (kListen && run_.instrument ? function.start : function.planned_start);
  }

  Run &run_;
  const Program &program_;
  const Instr *const code_;
  const int32_t storage_type_ = VmStorage::type();
  FrameScope scope_;
  Frame *frame_ = nullptr;
  View *cells_ = nullptr;
  View *scratch_ = nullptr;
  size_t folded_args_ = 0;
};

template <bool kListen>
View Interpreter::execute(uint32_t index, Args args) {
  enter(program_.functions[index], args.data());
  for (const Instr *pc = start_of<kListen>(*frame_->function);;) {
    const Instr &instr = *pc;
    if (instr.checked) [[unlikely]]
      check_reads(instr);
    if (kListen && run_.instrument && is_folded(instr.op)) {
      folded_args_ = folded_arguments(instr);
      if (!show_before(instr, folded_args_)) {
        skip(instr);
        ++pc;
        continue;
      }
    }
    switch (instr.op) {
      case Op::kKernel:
        if (!call<kListen, true>(instr)) [[unlikely]]
          return opd_none();
        ++pc;
        continue;
      case Op::kPacked:
        if (!call<kListen, false>(instr)) [[unlikely]]
          return opd_none();
        ++pc;
        continue;
      case Op::kTensor:
        make_tensor(instr);
        break;
      case Op::kStorage:
        assign(instr.cell, view_of(run_.pool.storage(static_cast<uint32_t>(instr.size_class))));
        break;
      case Op::kResident:
        if (!residents_ready(cells_, program_.places[instr.place])) [[unlikely]]
          make_residents(run_, cells_, program_.places[instr.place]);
        break;
      case Op::kNull:
        assign(instr.cell, opd_none());
        break;
      case Op::kForget:
        cells_[instr.cell] = opd_none();
        break;
      case Op::kIf:
        pc += condition(site(instr), cells_[instr.cell]) ? 1 : instr.offset;
        continue;
      case Op::kGoto:
        if (instr.offset <= 0) check_stop(instr);
        pc += instr.offset;
        continue;
      case Op::kProgram: {
        check_stop(instr);
        const uint32_t *from = instr.arg_cells();
        for (uint32_t i = 0; i < instr.num_args; ++i) scratch_[i] = cells_[from[i]];
        if (kListen && run_.instrument && !show_before(instr, instr.num_args)) {
          skip(instr);
          ++pc;
          continue;
        }
        const Program::Func &callee = program_.functions[instr.callee];
        uint64_t begin = 0;
        if (kListen && run_.records) begin = run_.records->begin_call({scratch_, instr.num_args});
        enter(callee, scratch_);
        frame_->return_to = &instr;
        frame_->begin = begin;
        pc = start_of<kListen>(callee);
        continue;
      }
      case Op::kRet: {
        Value result(cells_[instr.cell]);
        const Instr *const back = frame_->return_to;
        if (!back) return result.detach();  // the scope pops the frame
        const uint64_t begin = frame_->begin;
        scope_.pop();
        frame_ = run_.frames[run_.depth - 1].get();
        cells_ = frame_->cells.data();
        scratch_ = frame_->args();
        if (kListen && run_.records) {
          const Args given{scratch_, back->num_args};
          record(*back, begin, run_.records->end_call(begin, given), given);
        }
        if (kListen && run_.instrument) show_after(back->num_args, result.view());
        if (back->cell != program_.void_cell()) assign(back->cell, result.detach());
        pc = back + 1;
        continue;
      }
    }
    // A builtin that became an instruction.
    if (kListen && run_.instrument) show_after(folded_args_, cells_[instr.cell]);
    ++pc;
  }
}

}  // namespace

View interpret(Run &run, uint32_t function, Args args) {
  const bool listen = run.records || run.instrument;
  return listen ? Interpreter(run).execute<true>(function, args) : Interpreter(run).execute<false>(function, args);
}

}  // namespace opd
