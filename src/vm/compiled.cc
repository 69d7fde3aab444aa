#include "vm/compiled.h"

#include "vm/vm.h"

namespace opd {
namespace {

// The registers of a call. TVM's code keeps its parameters in the first ones, and its result in the one after them.
class Registers {
 public:
  Registers(Run &run, const Program::Func &function, Args args) : run_(run), values_(run.registers) {
    values_.assign(std::max(function.num_registers, function.num_args + 1), opd_none());
    for (size_t i = 0; i < args.size(); ++i) values_[i] = Value(args[i]).detach();
  }
  ~Registers() {
    for (View &value : values_)
      if (const View old = std::exchange(value, opd_none()); is_object(old)) run_.pool.drop(object_of(old));
    run_.compiled = nullptr;
    std::fill(std::begin(run_.lists), std::end(run_.lists), Run::List{});
    run_.observing = false;
    run_.operator_name.store(nullptr, std::memory_order_relaxed);
  }
  View *data() { return values_.data(); }

 private:
  Run &run_;
  std::vector<View> &values_;
};

[[noreturn]] void rethrow(const Program::Func &function, Ref<Error> error) {
  if (error->located) throw Exception(std::move(error));
  auto named = make_error(error->code, concat(error->message, " (in ", function.info->name, ")"), error->kind);
  if (named->code == error->code && named->code != OPD_OUT_OF_MEMORY) {  // else it may be the shared one
    named->located = true;
    named->set_cause(std::move(error));
  }
  throw Exception(std::move(named));
}

}  // namespace

void stop_compiled(const Run &run, StopReason reason) {
  const bool cancelled = reason == StopReason::kCancelled;
  auto error = make_error(
      cancelled ? OPD_CANCELLED : OPD_DEADLINE_EXCEEDED,
      concat(cancelled ? "the call was cancelled" : "the deadline passed", " in ", run.compiled->info->name));
  error->located = true;
  throw Exception(std::move(error));
}

View run_compiled(Run &run, uint32_t index, Args args) {
  const Program &program = *run.program;
  const Program::Func &function = program.functions[index];
  run.compiled = &function;
  run.observing = run.records || run.token || run.deadline_ns || run.instrument;
  Registers registers(run, function, args);
  const auto list_of = [](const std::vector<View> &items) {
    return Run::List{items.data(), static_cast<uint32_t>(items.size())};
  };
  run.lists[0] = list_of(run.registers);
  run.lists[1] = list_of(program.constants);
  run.lists[2] = list_of(run.vm->function_values());
  View lists[4] = {opd_pointer(&run)};
  for (size_t i = 0; i < 3; ++i) lists[i + 1] = opd_pointer(const_cast<View *>(run.lists[i].items));
  View ignored = opd_none();
  const int failed = program.bodies[index]->raw(nullptr, lists, static_cast<int32_t>(std::size(lists)), &ignored);
  if (is_object(ignored)) release(object_of(ignored));
  if (failed || run.list_error) [[unlikely]] {
    Ref<Error> error = failed ? take_raised() : nullptr;
    rethrow(function, run.list_error ? std::exchange(run.list_error, nullptr) : std::move(error));
  }
  return Value(registers.data()[function.num_args]).detach();
}

}  // namespace opd
