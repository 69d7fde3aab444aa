// Runs functions of programs that TVM compiled to machine code, on lists of constants, functions and registers.
#include "vm/observe.h"
#include "vm/vm.h"

namespace opd {
namespace {

// The lists of a call. TVM's code keeps its parameters in the first registers, and its result in the next one.
class Lists {
 public:
  Lists(Run &run, const Program::Func &function, Args args) : run_(run), lists_(run.lists) {
    // A compiled function that calls another one starts a run with lists of its own. So the block does not move while
    // machine code has addresses in it.
    auto &items = lists_.items;
    if (items.empty()) {
      const auto &constants = run.program->constants, &functions = run.vm->function_values();
      items.insert(items.end(), constants.begin(), constants.end());
      items.insert(items.end(), functions.begin(), functions.end());
      lists_.num_constants = constants.size();
      lists_.first_register = items.size();
    }
    // A damaged executable may state fewer registers than the result needs.
    lists_.num_registers = std::max(function.num_registers, function.num_args + 1);
    items.resize(lists_.first_register + lists_.num_registers, opd_none());
    lists_.registers = items.data() + lists_.first_register;
    thread_state().lists = {reinterpret_cast<uintptr_t>(items.data()), items.size() * sizeof(View)};
    // Each register owns a reference, even a parameter's, because code that overwrites the register ends a reference.
    for (size_t i = 0; i < args.size(); ++i) lists_.registers[i] = Value(args[i]).detach();
  }
  ~Lists() {
    // Values are dropped through the pool, as in bytecode, so the next call of the run uses their memory again.
    for (View &value : std::span(lists_.registers, lists_.num_registers))
      if (const View old = std::exchange(value, opd_none()); is_object(old)) run_.pool.drop(object_of(old));
    thread_state().lists = {};
    lists_.registers = nullptr;
    lists_.num_registers = 0;
    run_.compiled = nullptr;
    run_.operator_name.store(nullptr, std::memory_order_relaxed);
  }
  View *registers() { return lists_.registers; }
  View *constants() { return lists_.items.data(); }
  View *functions() { return lists_.items.data() + lists_.num_constants; }

 private:
  Run &run_;
  CompiledLists &lists_;
};

// If the error came through a nested call, it already names its place and stays unchanged.
Ref<Error> located(const Program::Func &function, Ref<Error> error) {
  if (error->located) return error;
  auto named = make_error(error->code, concat(error->message, " (in ", function.info->name, ")"), error->kind);
  if (named->code == error->code && named->code != OPD_OUT_OF_MEMORY) {  // otherwise all threads may share the error
    named->located = true;
    named->set_cause(std::move(error));
  }
  return named;
}

}  // namespace

View run_compiled(Run &run, uint32_t index, Args args) {
  const Program &program = *run.program;
  const Program::Func &function = program.functions[index];
  if (run.stop.load(std::memory_order_relaxed) != CancelReason::kNone) [[unlikely]]
    stop_compiled(run, function);
  run.compiled = &function;
  // valid until the function makes an observed call
  run.operator_name.store(function.info->name.c_str(), std::memory_order_relaxed);
  Lists lists(run, function, args);
  const View given[] = {opd_pointer(&run), opd_pointer(lists.registers()), opd_pointer(lists.constants()),
                        opd_pointer(lists.functions())};
  View ignored = opd_none();
  // TVM's code leaves its result in a register. If the code also sets the packed result, that reference must end.
  const int failed = program.bodies[index]->raw(nullptr, given, static_cast<int32_t>(std::size(given)), &ignored);
  if (is_object(ignored)) release(object_of(ignored));
  // The code ignores the return values of the list functions, so it may succeed although one of them failed. That error
  // comes first, because later errors may follow from it.
  if (failed || run.list_error) [[unlikely]] {
    Ref<Error> error = failed ? take_raised() : nullptr;
    run.failure = located(function, run.list_error ? std::exchange(run.list_error, nullptr) : std::move(error));
    return opd_none();
  }
  return Value(lists.registers()[function.num_args]).detach();
}

}  // namespace opd
