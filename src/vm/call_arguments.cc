// Arguments and results of a call into a program: maps names to positions, makes tensors fit for kernels, copies
// results to outputs.
#include "device/device.h"
#include "vm/pool.h"
#include "vm/vm.h"

namespace opd {
namespace {

std::string parameter_text(const FunctionInfo &function, size_t i) {
  if (i < function.param_names.size()) return concat("parameter ", function.param_names[i], " of ", function.name);
  return concat("argument ", i, " of ", function.name);
}

[[noreturn, gnu::noinline]] void bad_count(const FunctionInfo &function, size_t given) {
  fail_as("TypeError", OPD_INVALID_ARGUMENT, function.name, "(", joined(function.param_names), ") takes ",
          counted(function.num_args, "argument"), ", but was given ", given);
}

bool on_device(const Vm &vm, DLDevice device) {
  for (const auto &known : vm.devices())
    if (same(known.device, device)) return true;
  return false;
}

// Whether the tensor is passed on without a copy. Kernels check strides and byte offsets themselves, and programs may
// rely on them. But kernels do not check the alignment.
bool fits(const Vm &vm, const Tensor &tensor) {
  return reinterpret_cast<uintptr_t>(tensor.dl.data) % kAlignment == 0 && on_device(vm, tensor.dl.device);
}

// Tensors within tuples are passed on without a copy. A compiled function may write them, so read-only ones are
// refused.
void refuse_read_only_items(const FunctionInfo &function, size_t i, const View &arg, int depth = 0) {
  const auto *tuple = try_as<Array>(arg);
  if (!tuple || depth > 16) return;  // programs nest less deeply
  for (const View &item : tuple->views()) {
    if (item.type == OPD_TENSOR)
      require_writable(
          *static_cast<Tensor *>(object_of(item)),
          concat(parameter_text(function, i), ", a tuple of a compiled function that may write its items,"));
    refuse_read_only_items(function, i, item, depth + 1);
  }
}

Value make_fit(const Vm &vm, const FunctionInfo &function, size_t i, const View &arg) {
  const DLTensor *t = try_dltensor(arg);
  if (!t) {
    if (function.kind == FunctionKind::kTir) refuse_read_only_items(function, i, arg);
    return Value(arg);
  }
  if (!on_device(vm, t->device))
    fail(OPD_INVALID_ARGUMENT, parameter_text(function, i), " must lie on ", device_name(vm.devices().front().device),
         ", but is ", describe(*t));
  // A borrowed view must not outlive the call, but the program may keep it. So it is copied. A compiled function of a
  // program may write any argument, so a read-only one is copied, too. For bytecode, the decoder has found which calls
  // write.
  const bool may_be_written = function.kind == FunctionKind::kTir && arg.type == OPD_TENSOR &&
                              is_read_only(*static_cast<Tensor *>(object_of(arg)));
  if (arg.type == OPD_DLTENSOR || may_be_written) { return Value(copied_to(t->device, *t)); }
  if (const auto past = reinterpret_cast<uintptr_t>(t->data) % kAlignment)
    fail(OPD_INVALID_ARGUMENT, parameter_text(function, i), " must be aligned to ", kAlignment, " bytes, but ",
         describe(*t), " starts ", past, " bytes after a multiple of ", kAlignment,
         "; copy it into a tensor of opdyno");
  return Value(arg);
}

size_t position_of(const FunctionInfo &function, std::string_view name) {
  for (size_t i = 0; i < function.param_names.size(); ++i)
    if (function.param_names[i] == name) return i;
  fail_as("TypeError", OPD_INVALID_ARGUMENT, function.name, " has no parameter \"", name, "\".",
          suggestion(name, function.param_names));
}

const Tensor &tensor_of(opd_tensor *handle) { return *static_cast<Tensor *>(reinterpret_cast<Object *>(handle)); }

// Collects the tensors of a result in the order of its leaves, and checks each against its output. `depth` counts the
// tuples around the value. Its limit is more than programs need.
void collect(const View &value, std::span<opd_tensor *const> outputs, std::vector<const DLTensor *> &results,
             std::string_view function, int depth = 0) {
  constexpr int kMaxDepth = 16;
  if (const auto *array = try_as<Array>(value)) {
    require(depth < kMaxDepth, function, " returned tuples nested more than ", kMaxDepth,
            " deep, which cannot be stored in outputs");
    for (size_t i = 0; i < array->size(); ++i) collect(array->items()[i], outputs, results, function, depth + 1);
    return;
  }
  const size_t next = results.size();
  if (next == outputs.size())
    fail(OPD_INVALID_ARGUMENT, function, " returned more than the ", outputs.size(), " outputs supplied");
  const DLTensor &result = as_dltensor(value, concat("result ", next, " of ", function));
  require(outputs[next], "output ", next, " must not be NULL");
  require_writable(tensor_of(outputs[next]), concat("output ", next, " of ", function));
  check_copy(result, tensor_of(outputs[next]).dl);
  results.push_back(&result);
}

}  // namespace

std::vector<View> arguments_in_order(const FunctionInfo &function, Args args, std::span<const char *const> names) {
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

CallArguments::CallArguments(const Vm &vm, Args args) {
  const FunctionInfo closure{FunctionKind::kPacked, "closure", 0, 0, -2, 0, {}};
  for (size_t i = 0; i < args.size(); ++i) owned_.push_back(make_fit(vm, closure, i, args[i]));
}

CallArguments::CallArguments(const Vm &vm, const FunctionInfo &function, Args args, std::span<const char *const> names)
    : given_(args) {
  std::vector<View> placed;
  if (!names.empty()) given_ = placed = arguments_in_order(function, args, names);
  if (given_.size() != static_cast<size_t>(function.num_args)) [[unlikely]]
    bad_count(function, given_.size());
  const bool compiled = function.kind == FunctionKind::kTir;
  bool as_they_are = names.empty();
  for (const View &arg : given_) {
    if (const auto *tensor = try_as<Tensor>(arg))
      as_they_are &= fits(vm, *tensor) && !(compiled && is_read_only(*tensor));
    else as_they_are &= arg.type != OPD_DLTENSOR && !lacks_object(arg) && !(compiled && arg.type == OPD_ARRAY);
  }
  if (as_they_are) [[likely]]
    return;
  owned_.reserve(given_.size());
  for (size_t i = 0; i < given_.size(); ++i) owned_.push_back(make_fit(vm, function, i, given_[i]));
  given_ = {};
}

void store_outputs(const View &result, std::span<opd_tensor *const> outputs, std::string_view function) {
  std::vector<const DLTensor *> results;  // all results are checked before the first is written
  collect(result, outputs, results, function);
  if (results.size() != outputs.size())
    fail(OPD_INVALID_ARGUMENT, function, " returned ", results.size(), " tensors, but ", outputs.size(),
         " outputs were supplied");
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor &output = tensor_of(outputs[i]);
    copy_tensor(*results[i], output.dl);
    note_write(output, MemoryUse::kResult);
  }
}

}  // namespace opd
