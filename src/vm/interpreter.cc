// The interpreter: one loop over decoded instructions.
//
// The verifier has already proved every index, range and jump. So the loop checks only properties of values: the type
// of a condition, the size of a storage, whether a register was written.
//
// A frame is one array of registers: the function's own, then constants, immediates and function values. Every operand
// is an index into this array, so reading one is one load without a branch.
//
// The loop is compiled twice. With kListen it also records calls and new contents of storages, and shows calls to an
// instrument. Without kListen it has no such code, because a test per instruction would cost as much as a small
// instruction.
//
// Cost: tests/bench/vm_calls.cc and chain.cc. The call of a compiled kernel adds a few loads and a copy of its
// arguments.
#include "trace/record/run_recorder_inl.h"
#include "vm/pool.h"
#include "vm/run.h"
#include "vm/vm.h"

namespace opd {
namespace {

// Whether the instruction replaced a call of a builtin. An instrument still sees that call.
constexpr bool is_folded(Op op) {
  return op == Op::kStorage || op == Op::kTensor || op == Op::kNull || op == Op::kForgetBorrowed;
}

// A place in the program, for messages. The text is made only on request.
struct Site {
  const Run &run;
  const Frame &frame;
  const Instr &instr;
  size_t pc() const { return run.program->pc_of(&instr); }
  const std::string &callee() const { return run.program->callee_name(pc()); }
  const std::string &function() const { return frame.function->info->name; }
  std::string text() const { return concat(function(), ", instruction ", pc() - frame.function->start); }
};

// Adds the callee's name before the error and the place behind it. Builtins add their names themselves. If the error
// came through a nested call, it already names its place and stays unchanged.
[[gnu::noinline]] Ref<Error> located(const Site &site, Ref<Error> error) {
  if (error->located) return error;
  const std::string callee = concat(site.callee(), ": ");
  const bool says_callee = error->message.starts_with(callee);
  auto named = make_error(error->code,
                          concat(says_callee ? "" : callee.c_str(), error->message, " (called by ", site.text(), ")"),
                          error->kind);
  // If memory cannot be allocated, make_error() returns an error that all threads share. It must not be changed.
  if (named->code == error->code && named->code != OPD_OUT_OF_MEMORY) {
    named->located = true;
    named->set_cause(std::move(error));
  }
  return named;
}

// Throws unless the call goes on.
[[gnu::noinline]] void stop(Run &run, const Site &site) {
  const std::string before = site.instr.op == Op::kGoto ? "a backward jump" : site.callee();
  throw_if_stopped(run, concat("before ", before, " (", site.text(), ")"));
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

[[noreturn, gnu::noinline]] void written_in_place(const Site &site, uint32_t i, const DLTensor &tensor) {
  const uint32_t reg = site.instr.arg_registers()[i];
  const FunctionInfo &function = *site.frame.function->info;
  const std::string name = reg < function.param_names.size()
                               ? concat(", parameter ", function.param_names[reg], " of ", function.name, ",")
                               : std::string();
  fail(OPD_INVALID_ARGUMENT, site.callee(), ": argument ", i, name, " is ", describe(tensor),
       ", which is read-only, but the call has no output of its own and may write its arguments; pass a copy (called "
       "by ",
       site.text(), ")");
}

[[gnu::noinline]] bool condition(const Site &site, const View &v) {
  if (v.type == OPD_INT || v.type == OPD_BOOL) return v.u.int64 != 0;
  fail_as("TypeError", OPD_INVALID_ARGUMENT, "the condition must be int or bool, but is ", type_key(v.type), " (",
          site.text(), ")");
}

// Makes arguments fit for a compiled kernel, which reads text as a C string and any other object as a tensor. Texts are
// copied into `storage`, which must outlive the call. Objects other than tensors are refused.
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

// Pops the frames that a call pushed, even if an exception is thrown.
class FrameScope {
 public:
  explicit FrameScope(Run &run) : run_(run), base_(run.depth) {}
  ~FrameScope() {
    while (run_.depth > base_) pop();
  }

  size_t base() const { return base_; }
  // Registers become unset, because the next function in this frame must not see old values.
  void pop() {
    Frame &frame = *run_.frames[run_.depth - 1];
    const Program::Func &function = *frame.function;
    View *registers = frame.registers.data();
    for (uint32_t i = 0; i < function.num_args; ++i) {
      // A borrowed parameter is the caller's reference, so only the register is cleared.
      if (!function.borrowed[i] && is_object(registers[i])) run_.pool.drop(object_of(registers[i]));
      registers[i].type = kUnset;
    }
    for (uint32_t i = function.num_args; i < function.num_registers; ++i) {
      const View old = registers[i];
      registers[i].type = kUnset;
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

  // Records the calls of functions that `error` ended as if they had returned. The innermost comes first.
  void record_unwound(const Error &error) {
    while (run_.depth > scope_.base() + 1) {
      // The arguments are still in the scratch of the calling frame. Each frame has its own scratch.
      const Instr &call = *frame_->return_to;
      const uint64_t begin = frame_->begin;
      leave();
      if (run_.recorder.listens()) record(call, begin, run_.recorder.end_call(), {scratch_, call.num_args}, &error);
    }
  }

 private:
  Site site(const Instr &instr) const { return {run_, *frame_, instr}; }

  void assign(uint32_t reg, View value) {
    const View old = registers_[reg];
    registers_[reg] = value;
    if (is_object(old)) run_.pool.drop(object_of(old));
  }

  // The caller keeps its arguments alive during the call, so parameters are borrowed and no count changes. If the
  // function overwrites a parameter, that parameter gets its own reference, because overwriting ends one.
  void enter(const Program::Func &function, const View *args) {
    if (run_.depth >= static_cast<size_t>(run_.vm->max_depth()))
      fail_as("RecursionError", OPD_OUT_OF_RANGE, "calls are nested more than ", run_.vm->max_depth(),
              " deep, at function ", function.info->name);
    Frame &frame = run_.push();
    frame.function = &function;
    frame.return_to = nullptr;
    View *const registers = frame.registers.data();
    std::copy_n(args, function.num_args, registers);
    if (!function.all_borrowed) [[unlikely]]
      for (uint32_t i = 0; i < function.num_args; ++i)
        if (!function.borrowed[i] && is_object(args[i])) retain(object_of(args[i]));
    frame_ = &frame;
    registers_ = registers;
    scratch_ = frame.args();
  }

  // Returns to the calling function. Always inlined: if `this` were passed to a call, the loop's state would live in
  // memory instead of registers, which costs a third of an instruction's time.
  [[gnu::always_inline]] void leave() {
    scope_.pop();
    frame_ = run_.frames[run_.depth - 1].get();
    registers_ = frame_->registers.data();
    scratch_ = frame_->args();
  }

  void check_reads(const Instr &instr) const {
    if (instr.op == Op::kRet || instr.op == Op::kIf) {
      if (registers_[instr.reg].type == kUnset) unset_read(site(instr), instr.reg);
      return;
    }
    const uint32_t *registers = instr.arg_registers();
    for (uint32_t i = 0; i < instr.num_args; ++i)
      if (registers_[registers[i]].type == kUnset) unset_read(site(instr), registers[i]);
  }

  [[gnu::noinline]] void check(const Instr &instr) const {
    if (instr.checks & kReadsUnset) check_reads(instr);
    if (instr.checks & kWritesInPlace) check_writes(instr);
  }

  void check_writes(const Instr &instr) const {
    for (uint32_t i = 0; i < instr.num_args; ++i) {
      const View &arg = registers_[instr.arg_registers()[i]];
      if (arg.type == OPD_TENSOR && is_read_only(*static_cast<Tensor *>(object_of(arg))))
        written_in_place(site(instr), i, static_cast<Tensor *>(object_of(arg))->dl);
    }
  }

  void check_stop(const Instr &instr) const {
    if (run_.stop.load(std::memory_order_relaxed) != CancelReason::kNone) [[unlikely]]
      stop(run_, site(instr));
  }

  // Records a call. `error` is null if the call returned.
  void record(const Instr &instr, uint64_t begin, uint64_t end, Args args, const Error *error = nullptr) {
    const size_t pc = program_.pc_of(&instr);
    run_.recorder.add({begin, end, run_.callee_names[pc], static_cast<uint32_t>(pc), static_cast<uint32_t>(run_.depth)},
                      args, pc, error);
  }

  // If the callee raises an error, the next three functions put it into run.failure and return false. An exception
  // would cost microseconds, and errors of kernels are ordinary, such as a wrong shape.
  template <bool kListen, bool kKernel>
  bool call(const Instr &instr) {
    check_stop(instr);
    const uint32_t *from = instr.arg_registers();
    const uint32_t count = instr.num_args;
    bool plain = true;
    for (uint32_t i = 0; i < count; ++i) {
      const View v = registers_[from[i]];
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
    run_.current.store(&instr, std::memory_order_relaxed);  // other threads read only the program, which never changes
    View result = opd_none();
    const bool recorded = kListen && run_.recorder.listens();
    uint64_t begin = 0;
    if (recorded) begin = run_.recorder.begin_call({scratch_, count});
    int failed = instr.call(kKernel ? nullptr : instr.self, scratch_, static_cast<int32_t>(count), &result);
    if (recorded && !failed && run_.recorder.syncs() && run_.vm->is_asynchronous())
      failed = wait_for_device(count, result);
    // The callee may be the user's. A result with an object's type and no object would crash later and elsewhere.
    if (lacks_object(result)) [[unlikely]]
      failed = raising([&] { fail_result(std::exchange(result, opd_none())); });
    if (failed) [[unlikely]] {
      Ref<Error> error = take_raised();  // taken before collectors run, which may raise their own errors
      if (recorded) record(instr, begin, run_.recorder.end_call(), {scratch_, count}, &*error);
      run_.failure = located(site(instr), std::move(error));
      return false;
    }
    if (recorded) record(instr, begin, run_.recorder.end_call(), {scratch_, count});
    if (kListen && run_.instrument) show_owned_result(count, result);
    if (instr.reg != program_.void_register()) assign(instr.reg, result);
    else if (is_object(result)) run_.pool.drop(object_of(result));
    return true;
  }

  // A recorded call ends when the device has finished its work.
  [[gnu::noinline]] int wait_for_device(uint32_t count, View &result) {
    const int failed = run_.vm->wait_for_device({scratch_, count});
    if (failed) Value::take(std::exchange(result, opd_none()));  // ends the result's reference
    return failed;
  }

  // An instrument sees a folded call with its original arguments. The instruction no longer has them, so they are read
  // from the executable. Fills the scratch and returns the number of arguments.
  size_t folded_arguments(const Instr &instr) {
    size_t count = 0;
    for (const int64_t word : program_.executable->instruction(program_.pc_of(&instr)).args) {
      const Operand operand{word};
      View &arg = scratch_[count++];
      if (operand.kind() == Operand::kImmediate) arg = opd_int(operand.value());
      else if (operand.kind() == Operand::kConstant) arg = program_.constants[static_cast<size_t>(operand.value())];
      else if (operand.kind() == Operand::kFunction)
        arg = run_.vm->function_value(static_cast<uint32_t>(operand.value()));
      else if (operand.value() < kVoidRegister) arg = registers_[operand.value()];
      else arg = operand.value() == kVmRegister ? registers_[program_.vm_register()] : opd_none();
      if (arg.type == kUnset) arg = opd_none();
    }
    return count;
  }

  // Shows the arguments in place, in the scratch. Returns false if the instrument skips the call.
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
    Value kept = Value::take(result);  // released if the instrument throws
    show_after(count, result);
    kept.detach();
  }
  void skip(const Instr &instr) {
    if (instr.reg != program_.void_register()) assign(instr.reg, opd_none());
  }

  template <bool kListen>
  void make_tensor(const Instr &instr) {
    const View &value = registers_[instr.inline_args[0]];
    if (value.type != storage_type_) [[unlikely]]
      bad_storage(site(instr), value);
    auto *storage = static_cast<VmStorage *>(object_of(value));
    const uint64_t room = storage->size, bytes = instr.shape->bytes;
    if (bytes > room || instr.bytes > room - bytes) [[unlikely]] {
      if (!storage->image) small_storage(site(instr), instr.bytes, bytes, room);
      if (instr.bytes != 0 || bytes != storage->bytes()) fail_part_of_image(*storage, instr.bytes, bytes);
    }
    if (kListen && run_.pool.records_bindings()) record_version(*storage);
    assign(instr.reg, view_of(run_.pool.tensor(*instr.shape, storage, instr.bytes)));
  }

  // An instrument or a recording of all builtins must see every instruction of the program. The planned code has no
  // allocations left, so it is not used in that case.
  template <bool kListen>
  const Instr *start_of(const Program::Func &function) const {
    return code_ + (kListen && (run_.instrument || records_builtins_) ? function.start : function.planned_start);
  }

  Run &run_;
  const Program &program_;
  const Instr *const code_;
  const int32_t storage_type_ = VmStorage::type();
  FrameScope scope_;
  Frame *frame_ = nullptr;
  View *registers_ = nullptr;
  View *scratch_ = nullptr;
  size_t folded_args_ = 0;
  const bool records_builtins_ = run_.recorder.takes_all_calls();
};

template <bool kListen>
View Interpreter::execute(uint32_t index, Args args) {
  enter(program_.functions[index], args.data());
  for (const Instr *pc = start_of<kListen>(*frame_->function);;) {
    const Instr &instr = *pc;
    // The decoder has marked the instructions that need a check at run time. Most need none.
    if (instr.checks) [[unlikely]]
      check(instr);
    if (kListen && run_.instrument && is_folded(instr.op)) {
      folded_args_ = folded_arguments(instr);
      if (!show_before(instr, folded_args_)) {
        skip(instr);
        ++pc;
        continue;
      }
    }
    uint64_t folded_begin = 0;
    if (kListen && records_builtins_ && is_folded(instr.op)) folded_begin = run_.recorder.begin_call({});
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
        make_tensor<kListen>(instr);
        break;
      case Op::kStorage:
        assign(instr.reg, view_of(run_.pool.storage(static_cast<uint32_t>(instr.size_class))));
        break;
      case Op::kStaticBuffer: {
        const StaticBuffer &buffer = program_.places[instr.place];
        if (!is_ready(registers_, buffer)) [[unlikely]]
          make_static_buffer(run_, registers_, buffer);
        // The tensors of a static buffer have no instructions of their own, so together they are one version.
        if (kListen && run_.pool.records_bindings())
          record_version(*static_cast<VmStorage *>(object_of(registers_[buffer.reg])));
        break;
      }
      case Op::kNull:
        assign(instr.reg, opd_none());
        break;
      case Op::kForgetBorrowed:
        registers_[instr.reg] = opd_none();
        break;
      case Op::kIf:
        pc += condition(site(instr), registers_[instr.reg]) ? 1 : instr.offset;
        continue;
      case Op::kGoto:
        // A cancelled call must also leave a loop without calls. Forward jumps always come to an end.
        if (instr.offset <= 0) check_stop(instr);
        pc += instr.offset;
        continue;
      case Op::kProgram: {
        check_stop(instr);
        const uint32_t *from = instr.arg_registers();
        for (uint32_t i = 0; i < instr.num_args; ++i) scratch_[i] = registers_[from[i]];
        if (kListen && run_.instrument && !show_before(instr, instr.num_args)) {
          skip(instr);
          ++pc;
          continue;
        }
        // A call within the program takes a frame but no C stack: the loop continues in the callee. So only max_depth
        // limits the nesting of such calls.
        const Program::Func &callee = program_.functions[instr.callee];
        uint64_t begin = 0;
        if (kListen && run_.recorder.listens()) begin = run_.recorder.begin_call({scratch_, instr.num_args});
        enter(callee, scratch_);
        frame_->return_to = &instr;
        frame_->begin = begin;
        pc = start_of<kListen>(callee);
        continue;
      }
      case Op::kRet: {
        Value result(registers_[instr.reg]);  // an extra reference, because popping the frame drops the register
        const Instr *const back = frame_->return_to;
        if (!back) return result.detach();  // the scope pops the frame
        const uint64_t begin = frame_->begin;
        leave();
        if (kListen && run_.recorder.listens())
          record(*back, begin, run_.recorder.end_call(), {scratch_, back->num_args});
        if (kListen && run_.instrument) show_after(back->num_args, result.view());
        if (back->reg != program_.void_register()) assign(back->reg, result.detach());
        pc = back + 1;
        continue;
      }
    }
    // Only cases that break come here: folded builtins and static buffers. All other cases have already moved `pc`.
    if (kListen && folded_begin) record(instr, folded_begin, run_.recorder.end_call(), {});
    if (kListen && run_.instrument) show_after(folded_args_, registers_[instr.reg]);
    ++pc;
  }
}

}  // namespace

View interpret(Run &run, uint32_t function, Args args) {
  // The loop is chosen once per run: a listener or instrument that is set during the run takes effect in the next run.
  if (!run.recorder.listens() && !run.instrument) return Interpreter(run).execute<false>(function, args);
  Interpreter interpreter(run);
  try {
    const View result = interpreter.execute<true>(function, args);
    if (run.failure) [[unlikely]]
      interpreter.record_unwound(*run.failure);
    return result;
  } catch (...) {
    interpreter.record_unwound(*current_error());
    throw;
  }
}

}  // namespace opd
