// Implements record_calls(): records the calls of one run with the values that they read and write.
#include <algorithm>
#include <array>

#include "base/thread_state.h"
#include "compare/recorded_runs.h"
#include "device/device.h"
#include "value/number_blocks.h"

namespace opd {
namespace {

// Builtins that neither read nor write elements. Reading their tensors would only cost time.
bool is_plain(std::string_view name) {
  constexpr std::array kPlain = {"alloc_storage", "alloc_shape_heap", "match_shape",  "shape_of",        "make_tuple",
                                 "tuple_getitem", "tuple_reset_item", "kill_object",  "null_value",      "make_closure",
                                 "make_shape",    "make_prim_value",  "read_if_cond", "match_prim_value"};
  if (!name.starts_with(kBuiltinPrefix)) return false;
  name.remove_prefix(kBuiltinPrefix.size());
  return name.starts_with("check_") || std::ranges::find(kPlain, name) != kPlain.end();
}

struct Range {
  uintptr_t begin = 0, end = 0;
  bool is_empty() const { return begin == end; }
};

// The addresses of a tensor's elements. Empty for negative strides: such a tensor has no separate memory.
Range range_of(const DLTensor &tensor) {
  const auto begin = reinterpret_cast<uintptr_t>(data_of(tensor));
  uint64_t bytes = bytes_of(tensor);
  if (bytes && !is_contiguous(tensor)) {
    uint64_t last = 0;
    for (int32_t i = 0; i < tensor.ndim; ++i) {
      if (tensor.strides[i] < 0) return {};
      last += static_cast<uint64_t>((tensor.shape[i] - 1) * tensor.strides[i]);
    }
    data_bytes(last + 1, tensor.dtype, bytes);
  }
  return {begin, begin + bytes};
}

ContentsHash read_hash(const DLTensor &tensor) {
  Ref<Tensor> copy;
  return hash_of(host_bytes(tensor, copy), tensor.dtype);
}

class CallRecorder {
 public:
  CallRecorder(Vm &vm, ValueStore &store) : vm_(vm), store_(store) {
    const std::vector<View> &constants = vm.program().constants;
    for (size_t i = 0; i < constants.size(); ++i)
      if (const auto *tensor = try_as<Tensor>(constants[i])) constants_.emplace(data_of(tensor->dl), i);
  }

  // Calls the function with `args`. The program may write their tensors.
  RecordedRun record(std::string_view function, Args args, const CallSettings &settings) {
    struct Restored {
      Vm &vm;
      Ref<Function> before;
      ~Restored() { vm.set_instrument(std::move(before)); }
    };
    run_ = {};
    memory_.clear(), open_.clear();
    for (size_t i = 0; i < args.size(); ++i) add_roots(args[i], {Origin::kParameter, static_cast<int64_t>(i)}, 0);
    {
      const Restored restored{vm_, vm_.state().instrument()};
      // Calls of other threads may keep the instrument after this object is destroyed, so they must not use it.
      vm_.set_instrument(make_function([this, thread = thread_number()](Args shown) {
        if (thread_number() == thread) show(shown);
        return Value();
      }));
      try {
        run_.failure = vm_.run_named(function, args, settings, run_.result);
      } catch (const Exception &e) {  // the program exceeds a limit; other errors are the caller's
        if (e.error()->code != OPD_OUT_OF_RANGE && e.error()->code != OPD_OUT_OF_MEMORY) throw;
        run_.failure = e.error();
      }
      run_.note = vm_.recording_note();  // read while the kernels are observed
    }
    if (!run_.failure) {
      OpenCall last;
      add_results(last, run_.result, 0);
      for (size_t i = 0; i < last.tensors.size(); ++i) {
        uint32_t &value = last.call.slots[i].after;
        value = read(*last.tensors[i]);
        if (value == kNoValue)
          value = add_value(*last.tensors[i], opd_none(), {Origin::kUnseen});  // it was never written
        run_.results.push_back(std::move(last.call.slots[i]));
      }
    }
    return std::move(run_);
  }

 private:
  struct Span {  // the contents of memory, from the key (an address) to `end`
    uintptr_t end = 0;
    uint32_t value = kNoValue;  // kNoValue: allocated, but without contents
    bool is_exact = false;      // for find(): the span has exactly the requested bounds
  };
  struct OpenCall {
    bool is_operator = false;  // recorded even if it writes nothing
    RecordedCall call;
    std::vector<const DLTensor *> tensors;  // tensors of the slots
  };

  void show(Args shown) {
    const std::string_view name = as_text(shown[1], "the name");
    const Args args = shown.subspan(kInstrumentHead);
    if (is_plain(name)) return;
    if (as_int(shown[2], "before")) begin(name, args);
    else end(name, args, shown[3]);
  }

  void begin(std::string_view name, Args args) {
    OpenCall &open = open_.begin(args);
    const Function *const kernel = kernel_of(name, args);
    open.call.name = kernel ? vm_.looked_up_name(*kernel) : std::string(name);
    if (name == kAllocTensor) return;
    for (const View &arg : args) add_arguments(open, arg, 0);
    for (size_t i = 0; i < open.tensors.size(); ++i) open.call.slots[i].before = read(*open.tensors[i]);
    const bool is_own = name.starts_with(kBuiltinPrefix) && !kernel;
    open.is_operator = !is_own && !open.tensors.empty() && !vm_.executable().find(open.call.name);
  }

  void end(std::string_view name, Args args, const View &result) {
    std::optional<OpenCall> open = open_.end(args);
    if (!open) return;
    if (name == kAllocTensor) note_allocation(result);
    else end_operator(*open, result);
  }

  void end_operator(OpenCall &open, const View &result) {
    const size_t num_arguments = open.tensors.size();
    add_results(open, result, 0);
    const Origin own{Origin::kCall, static_cast<int64_t>(run_.calls.size())};
    std::vector<CallTensor> &slots = open.call.slots;
    for (size_t i = 0; i < slots.size(); ++i) find_write(slots[i], *open.tensors[i], own);
    const bool writes = std::ranges::any_of(slots, [](const CallTensor &slot) { return slot.is_written; });
    if (!writes && !open.is_operator) return;
    // Parts of the result that are arguments or older values are not written by this call.
    for (size_t i = slots.size(); i-- > num_arguments;)
      if (!slots[i].is_written) slots.erase(slots.begin() + static_cast<ptrdiff_t>(i));
    if (run_.calls.size() == kMostRecordedCalls) return static_cast<void>(++run_.num_dropped);
    open.call.occurrence = run_.num_calls[open.call.name]++;
    run_.calls.push_back(std::move(open.call));
  }

  // Finds out whether the call has written the slot's tensor, and the value that is there now.
  void find_write(CallTensor &slot, const DLTensor &tensor, Origin own) {
    const std::optional<Span> known = find(tensor);
    const bool had_contents = !(known && known->value == kNoValue);
    slot.after = slot.before;
    if (had_contents && (known || !slot.is_result)) {
      if (!is_readable(tensor)) return;
      const ContentsHash now = read_hash(tensor);
      const auto is_now = [&](uint32_t value) { return value != kNoValue && run_.contents(value).hash == now; };
      if (is_now(slot.before)) return;
      // A nested call may have written it. Or it is a result that is a view of another value.
      const bool is_of_other = known && (known->is_exact ? is_now(known->value) : slot.is_result);
      if (is_of_other) return static_cast<void>(slot.after = read(tensor));
    }
    slot.is_written = true;
    slot.after = add_value(tensor, opd_none(), own);
    place(tensor, slot.after);
  }

  void add_arguments(OpenCall &open, const View &arg, int depth) {
    if (const DLTensor *tensor = try_dltensor(arg)) {
      open.tensors.push_back(tensor);
      CallTensor &slot = open.call.slots.emplace_back();
      slot.type = type_text(tensor->dtype, dims_of(*tensor));
      slot.is_real = is_real(tensor->dtype);
    } else if (const auto *array = try_as<Array>(arg); array && depth < kMostTuples) {
      for (const View &item : array->views()) add_arguments(open, item, depth + 1);
    }
  }

  void add_results(OpenCall &open, const View &result, int depth) {
    const size_t first = open.call.slots.size();
    add_arguments(open, result, depth);
    for (size_t i = first; i < open.call.slots.size(); ++i) open.call.slots[i].is_result = true;
  }

  void add_roots(const View &arg, Origin origin, int depth) {
    if (const DLTensor *tensor = try_dltensor(arg)) {
      if (!range_of(*tensor).is_empty()) place(*tensor, add_value(*tensor, arg, origin));
    } else if (const auto *array = try_as<Array>(arg); array && depth < kMostTuples) {
      for (const View &item : array->views()) add_roots(item, origin, depth + 1);
    }
  }

  void note_allocation(const View &result) {
    const auto *tensor = try_as<Tensor>(result);
    if (!tensor || range_of(tensor->dl).is_empty()) return;
    place(tensor->dl, kNoValue);
    fill_unwritten(tensor->dl);
  }

  // returns the value in the tensor; kNoValue: no contents yet
  uint32_t read(const DLTensor &tensor) {
    Origin origin{Origin::kUnseen};
    View live = opd_none();
    const std::optional<Span> known = find(tensor);
    if (known && known->value == kNoValue) return kNoValue;
    if (known && known->is_exact) {
      const Contents &contents = run_.contents(known->value);
      if (!is_readable(tensor) || !contents.is_readable || contents.hash == read_hash(tensor)) return known->value;
    } else if (known) {
      return add_value(tensor, live, run_.values[known->value].origin);  // a part of the value
    } else if (const auto constant = constants_.find(data_of(tensor)); constant != constants_.end()) {
      origin = {Origin::kConstant, constant->second};
      live = vm_.program().constants[static_cast<size_t>(origin.index)];
    }
    const uint32_t value = add_value(tensor, live, origin);
    place(tensor, value);
    return value;
  }

  // Copies the elements, unless `live` is the tensor itself.
  uint32_t add_value(const DLTensor &tensor, const View &live, Origin origin) {
    RecordedValue value;
    value.origin = origin;
    Contents &contents = value.contents;
    contents.dims.assign(tensor.shape, tensor.shape + tensor.ndim);
    contents.dtype = tensor.dtype;
    contents.is_readable = is_readable(tensor);
    if (contents.is_readable) {
      Ref<Tensor> copy;
      const std::string_view bytes = host_bytes(tensor, copy);
      contents.hash = hash_of(bytes, tensor.dtype);
      if (auto *owner = try_as<Tensor>(live)) contents.live = Ref<Tensor>::share(owner);
      else contents.kept = store_.keep(contents.hash, bytes);
    }
    run_.values.push_back(std::move(value));
    return static_cast<uint32_t>(run_.values.size() - 1);
  }

  void place(const DLTensor &tensor, uint32_t value) {
    const Range range = range_of(tensor);
    if (range.is_empty()) return;
    auto next = memory_.lower_bound(range.begin);
    if (next != memory_.begin() && std::prev(next)->second.end > range.begin) --next;
    while (next != memory_.end() && next->first < range.end) next = memory_.erase(next);
    memory_[range.begin] = {range.end, value};
  }

  // Returns the value that covers all of the tensor's memory; if there are several, the latest.
  std::optional<Span> find(const DLTensor &tensor) const {
    const Range range = range_of(tensor);
    if (range.is_empty()) return std::nullopt;
    auto next = memory_.lower_bound(range.begin);
    if (next != memory_.begin() && std::prev(next)->second.end > range.begin) --next;
    std::optional<Span> found;
    for (; next != memory_.end() && next->first < range.end; ++next) {
      Span span = next->second;
      span.is_exact = next->first == range.begin && span.end == range.end;
      const bool is_later = !found || found->value == kNoValue || (span.value != kNoValue && span.value > found->value);
      if (is_later) found = span;
    }
    return found;
  }

  Vm &vm_;
  ValueStore &store_;
  std::unordered_map<const void *, int64_t> constants_;  // key: address
  RecordedRun run_;
  std::map<uintptr_t, Span> memory_;
  OpenCalls<OpenCall> open_;
};

}  // namespace

std::string RecordedRun::label(size_t call) const {
  const RecordedCall &of = calls[call];
  const uint32_t all = num_calls.at(of.name);
  return all == 1 ? of.name : concat(of.name, " (call ", of.occurrence + 1, " of ", all, ")");
}

RecordedRun record_calls(Vm &vm, ValueStore &store, std::string_view function, Args args,
                         const CallSettings &settings) {
  return CallRecorder(vm, store).record(function, args, settings);
}

}  // namespace opd
