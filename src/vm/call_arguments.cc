// What a call into a program gets and gives: names to positions, tensors fit for kernels, results into given tensors.
#include "device/device.h"
#include "vm/vm.h"

namespace opd {
namespace {

std::string parameter_text(const FunctionInfo &function, size_t i) {
  if (i < function.param_names.size()) return concat("parameter ", function.param_names[i], " of ", function.name);
  return concat("argument ", i, " of ", function.name);
}

[[noreturn, gnu::noinline]] void bad_count(const FunctionInfo &function, size_t given) {
  std::string names;
  for (const auto &name : function.param_names) names += concat(names.empty() ? "" : ", ", name);
  fail_as("TypeError", OPD_INVALID_ARGUMENT, function.name, "(", names, ") takes ",
          counted(function.num_args, "argument"), ", but was given ", given);
}

bool on_device(const Vm &vm, DLDevice device) {
  for (const auto &known : vm.devices())
    if (same(known.device, device)) return true;
  return false;
}

// Whether kernels may read the tensor as it is.
bool fits(const Vm &vm, const Tensor &tensor) {
  const DLTensor &t = tensor.dl;
  return is_surely_contiguous(t) && t.byte_offset == 0 && reinterpret_cast<uintptr_t>(t.data) % kAlignment == 0 &&
         on_device(vm, t.device);
}

Value make_fit(const Vm &vm, const FunctionInfo &function, size_t i, const View &arg) {
  const DLTensor *t = try_dltensor(arg);
  if (!t) return Value(arg);
  if (!on_device(vm, t->device))
    fail(OPD_INVALID_ARGUMENT, parameter_text(function, i), " must lie on ", device_name(vm.devices().front().device),
         ", but is ", describe(*t));
  if (arg.type == OPD_DLTENSOR) {  // a borrowed view may not outlive the call, and the program may keep it
    auto copy = make_tensor(dims_of(*t), t->dtype, t->device);
    copy_tensor(*t, copy->dl);
    return Value(std::move(copy));
  }
  if (fits(vm, *static_cast<Tensor *>(object_of(arg)))) return Value(arg);
  const auto address = reinterpret_cast<uintptr_t>(data_of(*t));
  if (!is_contiguous(*t)) {
    std::string strides;
    append_dims(strides, {t->strides, static_cast<size_t>(t->ndim)});
    fail(OPD_INVALID_ARGUMENT, parameter_text(function, i), " must be contiguous, but ", describe(*t), " has strides ",
         strides);
  }
  if (address % kAlignment)
    fail(OPD_INVALID_ARGUMENT, parameter_text(function, i), " must start at a multiple of ", kAlignment, " bytes, but ",
         describe(*t), " starts ", address % kAlignment, " bytes past one; copy it into a tensor of opdyno");
  auto view = Tensor::make(dims_of(*t), t->dtype, t->device, data_of(*t), Ref<Object>::share(object_of(arg)));
  return Value(std::move(view));
}

size_t position_of(const FunctionInfo &function, std::string_view name) {
  for (size_t i = 0; i < function.param_names.size(); ++i)
    if (function.param_names[i] == name) return i;
  fail_as("TypeError", OPD_INVALID_ARGUMENT, function.name, " has no parameter \"", name, "\".",
          suggestion(name, function.param_names));
}

std::vector<View> in_order(const FunctionInfo &function, Args args, std::span<const char *const> names) {
  const auto count = static_cast<size_t>(function.num_args);
  std::vector<View> placed(count, opd_none());
  std::vector<bool> given(count, false);
  size_t next = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool named = names[i] != nullptr;
    const size_t place = named ? position_of(function, names[i]) : next++;
    if (place >= count) bad_count(function, args.size());
    if (given[place]) fail_as("TypeError", OPD_INVALID_ARGUMENT, parameter_text(function, place), " is given twice");
    given[place] = true;
    placed[place] = args[i];
  }
  for (size_t i = 0; i < count; ++i)
    if (!given[i]) fail_as("TypeError", OPD_INVALID_ARGUMENT, parameter_text(function, i), " is missing");
  return placed;
}

const DLTensor &tensor_of(opd_tensor *handle) { return static_cast<Tensor *>(reinterpret_cast<Object *>(handle))->dl; }

// The tensors of a result in the order of its leaves, each checked against the output that is to receive it. `depth`
// counts the tuples around the value, and stops at what programs need.
void collect(const View &value, std::span<opd_tensor *const> outputs, std::vector<const DLTensor *> &results,
             std::string_view function, int depth = 0) {
  constexpr int kMaxDepth = 16;
  if (const auto *array = try_as<Array>(value)) {
    require(depth < kMaxDepth, function, " gives tuples nested more than ", kMaxDepth,
            " deep, which cannot be stored in outputs");
    for (size_t i = 0; i < array->size(); ++i) collect(array->items()[i], outputs, results, function, depth + 1);
    return;
  }
  const size_t next = results.size();
  if (next == outputs.size())
    fail(OPD_INVALID_ARGUMENT, function, " gives more than the ", outputs.size(), " outputs supplied");
  const DLTensor &result = as_dltensor(value, concat("result ", next, " of ", function));
  require(outputs[next], "output ", next, " must not be NULL");
  check_copy(result, tensor_of(outputs[next]));
  results.push_back(&result);
}

}  // namespace

CallArguments::CallArguments(const Vm &vm, Args args) {
  static const FunctionInfo kClosure{FunctionKind::kPacked, "closure", 0, 0, -2, 0, {}};
  for (size_t i = 0; i < args.size(); ++i) owned_.push_back(make_fit(vm, kClosure, i, args[i]));
}

CallArguments::CallArguments(const Vm &vm, const FunctionInfo &function, Args args, std::span<const char *const> names)
    : given_(args) {
  std::vector<View> placed;
  if (!names.empty()) given_ = placed = in_order(function, args, names);
  if (given_.size() != static_cast<size_t>(function.num_args)) [[unlikely]]
    bad_count(function, given_.size());
  bool as_they_are = names.empty();
  for (const View &arg : given_) {
    if (const auto *tensor = try_as<Tensor>(arg)) as_they_are &= fits(vm, *tensor);
    else as_they_are &= arg.type != OPD_DLTENSOR;
  }
  if (as_they_are) [[likely]]
    return;
  owned_.reserve(given_.size());
  for (size_t i = 0; i < given_.size(); ++i) owned_.push_back(make_fit(vm, function, i, given_[i]));
  given_ = {};
}

void store_outputs(const View &result, std::span<opd_tensor *const> outputs, std::string_view function) {
  std::vector<const DLTensor *> results;  // all are checked before the first is written
  collect(result, outputs, results, function);
  if (results.size() != outputs.size())
    fail(OPD_INVALID_ARGUMENT, function, " gives ", results.size(), " tensors, but ", outputs.size(),
         " outputs were supplied");
  for (size_t i = 0; i < results.size(); ++i) copy_tensor(*results[i], tensor_of(outputs[i]));
}

}  // namespace opd
