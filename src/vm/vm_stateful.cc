// Calls by name for users: plain calls, saved calls with their arguments, and the three steps set_input,
// invoke_stateful, get_outputs.
#include "device/device.h"
#include "vm/vm.h"

namespace opd {
namespace {

std::vector<Value> owned(Args views) { return {views.begin(), views.end()}; }

// Returns the value with its tensors on the device. Tensors on other devices are copied. `depth` counts the tuples
// around it.
Value on_device(const View &value, DLDevice device, int depth = 0) {
  constexpr int kMostTuples = 16;  // programs nest less deeply
  if (const DLTensor *tensor = try_dltensor(value)) {
    if (same(tensor->device, device) && value.type == OPD_TENSOR) return Value(value);
    return Value(copied_to(device, *tensor));
  }
  const auto *tuple = try_as<Array>(value);
  if (!tuple || depth == kMostTuples) return Value(value);
  std::vector<Value> items;
  for (const View &item : tuple->views()) items.push_back(on_device(item, device, depth + 1));
  return Value(Array::make(views_of(items)));
}

}  // namespace

void Vm::require_arguments(uint32_t function, Args args) const {
  const FunctionInfo &info = executable().functions[function];
  if (!args.empty() || info.num_args == 0 || !state_.has_input(function)) [[likely]]
    return;
  fail_as("RuntimeError", OPD_FAILED_PRECONDITION, "the inputs of ", info.name,
          " were set: run it by invoke_stateful, or pass arguments");
}

std::optional<uint32_t> Vm::find_function_index(std::string_view name) const {
  const auto found = program_->index_of.find(name);
  return found == program_->index_of.end() ? std::nullopt : std::optional(found->second);
}

uint32_t Vm::function_index(std::string_view name) const {
  const auto index = find_function_index(name);
  if (!index) executable().fail_missing(name);
  return *index;
}

Ref<Error> Vm::run_named(std::string_view name, Args args, const CallSettings &settings, Value &result) {
  const auto index = find_function_index(name);
  if (!index) {
    if (const auto saved = state_.saved(name)) return result = call_saved(*saved, args, settings), nullptr;
    executable().fail_missing(name);
  }
  require_arguments(*index, args);
  return run(*index, args, settings, result);
}

Ref<Function> Vm::function(std::string_view name) {
  if (!find_function_index(name))
    if (auto saved = state_.saved(name)) return make_saved_call(Ref<Vm>::share(this), std::move(saved));
  return make_bound_function(Ref<Vm>::share(this), function_index(name));
}

void Vm::save_function(std::string_view name, std::string_view saved_name, Args args, const CallSettings &settings,
                       bool include_return) {
  if (find_function_index(saved_name))
    fail(OPD_ALREADY_EXISTS, "a saved function cannot be named ", saved_name,
         ": the program has a function of that name");
  auto saved = make_object<SavedFunction>();
  saved->function = function_index(name);
  saved->args = owned(CallArguments(*this, executable().functions[saved->function], args, settings.names).views());
  saved->include_return = include_return;
  state_.save(std::string(saved_name), std::move(saved));
}

Value Vm::call_saved(const SavedFunction &saved, Args args, const CallSettings &settings) {
  if (!args.empty())
    fail_as("TypeError", OPD_INVALID_ARGUMENT, "a saved function takes no arguments, but was given ", args.size(), "; ",
            program_name(saved.function), " was saved with its own");
  CallSettings own = settings;
  own.names.clear();
  Value result = call(saved.function, views_of(saved.args), own);
  return saved.include_return ? std::move(result) : Value();
}

void Vm::set_input(std::string_view name, Args args, const CallSettings &settings) {
  const uint32_t index = function_index(name);
  const DLDevice device = devices().front().device;
  std::vector<Value> there;
  std::vector<View> views;
  if (device.device_type != kDLCPU) {  // devices of type kDLCPU share the host's memory
    for (const View &arg : args) views.push_back(there.emplace_back(on_device(arg, device)).view());
    args = views;
  }
  state_.set_input(index, owned(CallArguments(*this, executable().functions[index], args, settings.names).views()));
}

void AnyVm::set_input_with_param_module(std::string_view name, Args args, CallSettings settings, Module &params) {
  std::vector<View> all(args.begin(), args.end());
  const Value given = opd::call(*params.get("get_params", true), {});
  all.push_back(given.view());
  if (!settings.names.empty()) settings.names.push_back(nullptr);
  set_input(name, all, settings);
}

bool Vm::has_input(std::string_view name) const { return state_.has_input(function_index(name)); }

std::vector<Value> Vm::inputs(std::string_view name) const {
  const uint32_t index = function_index(name);
  if (!state_.has_input(index))
    fail_as("ValueError", OPD_FAILED_PRECONDITION, "the inputs of ", name,
            " were not set: call set_input first, even for a function without parameters");
  return state_.input(index);
}

void Vm::invoke_stateful(std::string_view name, const CallSettings &settings) {
  const std::vector<Value> args = inputs(name);
  const uint32_t index = function_index(name);
  state_.set_output(index, call(index, views_of(args), settings));
}

Value Vm::output(std::string_view name, std::span<const int64_t> path) const {
  Value result;
  if (!state_.output(function_index(name), result))
    fail_as("ValueError", OPD_FAILED_PRECONDITION, name,
            " has no outputs: call set_input, then invoke_stateful, first");
  for (size_t i = 0; i < path.size(); ++i) {
    const auto *tuple = try_as<Array>(result.view());
    if (!tuple)
      fail_as("ValueError", OPD_INVALID_ARGUMENT, "output of ", name, ": index ", i, " is for a tuple, but there is ",
              type_key(result.view().type));
    if (path[i] < 0 || static_cast<uint64_t>(path[i]) >= tuple->size())
      fail_as("IndexError", OPD_OUT_OF_RANGE, "output of ", name, ": item ", path[i], " of a tuple of ", tuple->size());
    result = Value(tuple->items()[path[i]]);
  }
  return result;
}

Value Vm::invoke_closure(Function &closure, Args args, const CallSettings &settings) {
  const CallArguments checked(*this, args);
  CallScope scope(*this, CallScope::kNoFunction, settings);  // the closure's calls inherit from it
  RunSignals &signals = scope.run();
  if (signals.stop.load() != CancelReason::kNone)  // the closure may make no call that would check the signal
    if (Ref<Error> error = stop_error(signals, "before the closure")) throw Exception(std::move(error));
  return opd::call(closure, checked.views());
}

}  // namespace opd
