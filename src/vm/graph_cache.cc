// The state behind vm.builtin.cuda_graph.*: keeps memory, and captures device graphs and launches them again.
#include <algorithm>

#include "value/hash.h"
#include "vm/run.h"
#include "vm/vm.h"

namespace opd {
namespace {

// Calls `visit` for each value that is not a tuple.
template <class Visit>
void each_leaf(const View &value, const Visit &visit) {
  std::vector<View> rest = {value};
  while (!rest.empty()) {
    const View next = rest.back();
    rest.pop_back();
    const auto *const tuple = try_as<Array>(next);
    if (!tuple) visit(next);
    else rest.insert(rest.end(), tuple->items(), tuple->items() + tuple->size());
  }
}

std::string name_of(const Vm &vm, const Function &function) {
  const ProgramClosure *const closure = as_program_closure(function);
  return vm.looked_up_name(closure ? *closure->function : function);
}

// Refuses functions: they could keep the VM, which keeps the value.
void check_kept(const Value &value, const char *what) {
  each_leaf(value, [what](const View &leaf) {
    if (leaf.type == OPD_FUNCTION)
      fail_as("TypeError", OPD_INVALID_ARGUMENT, "the function's ", what,
              " is kept, so there must be no function in it");
  });
}

const VmDevice *device_with_graphs(const Vm &vm) {
  const auto found = std::ranges::find_if(
      vm.devices(), [](const VmDevice &device) { return device_backend(device.device).has_graphs(); });
  return found == vm.devices().end() ? nullptr : &*found;
}

// Whether a graph that was captured with `captured` can be launched for `given`. Tensors are made again for each call,
// but in the same memory.
bool is_same_argument(const View &captured, const View &given) {
  const DLTensor *const a = try_dltensor(captured), *const b = try_dltensor(given);
  if (!a || !b) return equal_keys(captured, given);
  return data_of(*a) == data_of(*b) && same(a->device, b->device) && same(a->dtype, b->dtype) &&
         std::ranges::equal(dims_of(*a), dims_of(*b));
}
bool are_same_arguments(std::span<const Value> captured, Args given) {
  return std::ranges::equal(captured, given,
                            [](const Value &a, const View &b) { return is_same_argument(a.view(), b); });
}

// These errors are passed on unchanged: the out-of-memory error is shared by all threads, and a cancelled call is no
// fault.
bool is_of_the_call(opd_code code) { return code == OPD_OUT_OF_MEMORY || code == OPD_CANCELLED; }

std::unique_ptr<Graph> capture(DLDevice device, const std::string &name, const std::function<void()> &give) try {
  return Graph::capture(device, give);
} catch (const Exception &e) {
  const Ref<Error> &cause = e.error();
  if (is_of_the_call(cause->code)) throw;
  auto error = make_error(
      cause->code,
      concat("function ", name, " cannot be captured as a graph of ", device_name(device), ": ", cause->message),
      cause->kind);
  if (error->code == cause->code) {  // otherwise, there is no memory
    error->located = cause->located;
    error->set_cause(cause);
  }
  throw Exception(std::move(error));
}

}  // namespace

Value GraphCache::allocation(Function &function, int64_t index) {
  if (const auto found = allocations_.find(index); found != allocations_.end()) return found->second;
  Value result = call(function, {});
  check_kept(result, "result");
  allocations_[index] = result;
  return result;
}

// The first call returns the result of its own call. The captured call's result lies in memory that the first launch
// will fill.
Value GraphCache::run(const Vm &vm, Function &function, Args args, int64_t index, std::span<const int64_t> shape) {
  const VmDevice *const device = device_with_graphs(vm);
  if (!device || is_capturing()) return call(function, args);
  std::pair<int64_t, std::vector<int64_t>> key(index, {shape.begin(), shape.end()});
  if (const auto found = graphs_.find(key); found != graphs_.end()) {
    const Captured &known = found->second;
    if (are_same_arguments(known.args, args)) {
      known.graph->launch(known.name);
      return known.result;
    }
    graphs_.erase(found);
  }
  Value done = call(function, args);
  const std::string name = name_of(vm, function);
  Captured captured;
  captured.name = name_id(name);
  for (const View &arg : args) check_kept(captured.args.emplace_back(arg), "argument");
  captured.graph = capture(device->device, name, [&] { captured.result = call(function, args); });
  check_kept(captured.result, "result");
  graphs_.emplace(std::move(key), std::move(captured));
  return done;
}

uint64_t GraphCache::kept_bytes(DLDevice device) const {
  uint64_t sum = 0;
  for (const auto &[index, result] : allocations_)
    each_leaf(result, [&](const View &leaf) {
      const auto *const storage = try_as<VmStorage>(leaf);
      if (storage && same(storage->device, device)) sum += storage->bytes();
    });
  return sum;
}

}  // namespace opd
