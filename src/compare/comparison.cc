#include "compare/comparison.h"

#include <algorithm>

#include "base/thread_state.h"
#include "device/device.h"
#include "profiler/vm_profile.h"
#include "program/value_type.h"
#include "stats/diff.h"
#include "value/number_blocks.h"
#include "vm/kv/kv_state.h"

namespace opd {
namespace {

// Returns the deadline for a timeout; 0: none. If the sum overflows, returns the largest time.
int64_t deadline_after(int64_t timeout_ns) {
  const auto now = static_cast<int64_t>(monotonic_ns());
  return timeout_ns == 0 ? 0 : timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

// Moves tensors from the first device of the VM that they were made for to the first device of the called VM.
struct FirstDevices {
  DLDevice from, to;
  DLDevice of(const DLTensor &tensor) const { return same(tensor.device, from) ? to : tensor.device; }
};

Ref<Tensor> converted(const DLTensor &from, DLDataType dtype, DLDevice device) {
  Ref<Tensor> copy;
  const std::string_view bytes = host_bytes(from, copy);
  Ref<Tensor> to = make_tensor(dims_of(from), dtype, kHost);
  double block[512];
  const uint64_t count = count_of(from);
  for (uint64_t first = 0; first < count; first += std::size(block)) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(std::size(block), count - first));
    read_numbers(bytes.data(), from.dtype, first, size, block);
    write_reals(block, size, dtype, first, data_of(to->dl));
  }
  return same(device, kHost) ? to : copied_to(device, to->dl);
}

bool is_convertible(DLDataType dtype) {
  return (dtype.code == kDLFloat || dtype.code == kDLBfloat) && dtype.lanes == 1 && has_numbers(dtype);
}

Value argument_for(const View &arg, const ValueType *type, const FirstDevices &devices, int depth) {
  if (const DLTensor *tensor = try_dltensor(arg)) {
    const bool names_dtype = type && !type->dtype.empty();
    const DLDataType wanted = names_dtype ? parse_dtype(type->dtype) : tensor->dtype;
    if (!same(wanted, tensor->dtype) && is_convertible(wanted) && is_convertible(tensor->dtype))
      return Value(converted(*tensor, wanted, devices.of(*tensor)));
    return Value(copied_to(devices.of(*tensor), *tensor));
  }
  const auto *tuple = try_as<Array>(arg);
  if (!tuple || depth == kMostTuples) return Value(arg);
  std::vector<Value> items;
  for (size_t i = 0; i < tuple->size(); ++i) {
    const bool has_type = type && type->has_items && i < type->items.size();
    items.push_back(argument_for(tuple->items()[i], has_type ? &type->items[i] : nullptr, devices, depth + 1));
  }
  return Value(Array::make(views_of(items)));
}

const FunctionInfo &function_of(const Vm &vm, std::string_view name, const char *side) {
  if (const FunctionInfo *function = vm.executable().find(name)) return *function;
  try {
    vm.executable().fail_missing(name);
  } catch (const Exception &e) { fail(OPD_NOT_FOUND, side, ": ", e.what()); }
}

std::string signature(const FunctionInfo &function) {
  return concat(function.name, "(", joined(function.param_names), ")");
}

void require_count(const FunctionInfo &function, size_t num_args) {
  require(static_cast<size_t>(function.num_args) == num_args, signature(function), " takes ",
          counted(function.num_args, "argument"), ", but was given ", num_args);
}

// Returns the index of A's parameter with the same name, for each parameter of B. Returns nullopt if a name is missing
// or occurs twice.
std::optional<std::vector<size_t>> places_by_name(const FunctionInfo &a, const FunctionInfo &b) {
  std::vector<size_t> places;
  for (const std::string &name : b.param_names) {
    const auto &names = a.param_names;
    const auto found = std::ranges::find(names, name);
    const bool is_once =
        found != names.end() && std::ranges::count(names, name) == 1 && std::ranges::count(b.param_names, name) == 1;
    if (!is_once) return std::nullopt;
    places.push_back(static_cast<size_t>(found - names.begin()));
  }
  return places;
}

bool same_plain(const View &a, const View &b, const Tolerances &tolerances) {
  if (a.type == OPD_FLOAT && b.type == OPD_FLOAT) {
    constexpr DLDataType kDouble = {kDLFloat, 64, 1};
    return compare_elements(reinterpret_cast<const char *>(&a.u.float64), kDouble,
                            reinterpret_cast<const char *>(&b.u.float64), kDouble, 1, tolerances)
        .agrees();
  }
  return (a.type == b.type || (is_text(a) && is_text(b))) && to_text(a) == to_text(b);
}

// Describes a result in a message.
std::string kind_of(const View &value, bool with_type) {
  if (const auto *tuple = try_as<Array>(value)) return concat("a tuple of ", tuple->size());
  if (const DLTensor *tensor = try_dltensor(value)) return concat("a tensor ", describe(*tensor));
  return with_type ? concat(type_key(value.type), " ", to_text(value)) : to_text(value);
}

// Whether both results are functions, which cannot be compared.
bool are_functions(const View &a, const View &b) { return a.type == OPD_FUNCTION && b.type == OPD_FUNCTION; }

// Returns the first difference between results, apart from the elements of tensors.
std::string plain_difference(const View &a, const View &b, const Tolerances &tolerances, const std::string &place,
                             int depth = 0) {
  const auto *one = try_as<Array>(a), *other = try_as<Array>(b);
  if (one && other && one->size() == other->size() && depth < kMostTuples) {
    for (size_t i = 0; i < one->size(); ++i) {
      std::string inner = plain_difference(one->items()[i], other->items()[i], tolerances,
                                           concat(depth ? place.c_str() : "result", depth ? "_" : " ", i), depth + 1);
      if (!inner.empty()) return inner;
    }
    return {};
  }
  const DLTensor *const a_tensor = try_dltensor(a), *const b_tensor = try_dltensor(b);
  const bool are_tensors = a_tensor && b_tensor;
  const bool is_same = are_tensors ? std::ranges::equal(dims_of(*a_tensor), dims_of(*b_tensor))
                                   : are_functions(a, b) || (!one && !other && same_plain(a, b, tolerances));
  if (is_same) return {};
  const bool with_type = a.type != b.type && !are_tensors;
  return concat(place, " is ", kind_of(a, with_type), " in A, but ", kind_of(b, with_type), " in B");
}

bool has_functions(const View &a, const View &b, int depth = 0) {
  const auto *one = try_as<Array>(a), *other = try_as<Array>(b);
  if (!one || !other || one->size() != other->size() || depth == kMostTuples) return are_functions(a, b);
  for (size_t i = 0; i < one->size(); ++i)
    if (has_functions(one->items()[i], other->items()[i], depth + 1)) return true;
  return false;
}

}  // namespace

std::vector<Value> arguments_for(const Vm &vm, std::string_view function, Args args, const Vm &origin) {
  const FunctionTypes types = types_of(vm.executable(), {&vm.executable().get(function), 1}).front();
  const FirstDevices devices{origin.devices().front().device, vm.devices().front().device};
  std::vector<Value> out;
  for (size_t i = 0; i < args.size(); ++i)
    out.push_back(argument_for(args[i], i < types.params.size() ? &types.params[i] : nullptr, devices, 0));
  return out;
}

Comparison::Comparison(Vm &a, Vm &b, std::string function, Args args, CompareOptions options)
    : a_vm_(a),
      b_vm_(b),
      function_(std::move(function)),
      args_(args),
      options_(std::move(options)),
      deadline_ns_(deadline_after(options_.timeout_ns)),
      store_(options_.keep_bytes) {
  require(&a != &b, "a and b must be two VMs, but are the same one");
  choose_b_arguments();
  separate_states();
  a_ = record(a, "A", args_);
  b_ = record(b, "B", b_args());
  comparer_ = std::make_unique<ValueComparer>(a_, b_, options_.tolerances, [this] { check_stop(); });
  matching_ = match_calls(*comparer_);
  first_ = find_first_difference(*comparer_, matching_);
  if (!has_failure()) result_problem_ = plain_difference(a_.result, b_.result, options_.tolerances, "the result");
  count_agreements();
}

// If the functions do not match, the message describes both, because a reader must see how they differ.
void Comparison::choose_b_arguments() {
  const FunctionInfo &one = function_of(a_vm_, function_, "A"), &other = function_of(b_vm_, function_, "B");
  if (options_.b_args) {
    require_count(one, args_.size());
    const Args given = options_.b_args->views();
    require(static_cast<size_t>(other.num_args) == given.size(), "B: ", signature(other), " takes ",
            counted(other.num_args, "argument"), ", but option b_args has ", given.size());
    b_args_.assign(given.begin(), given.end());
    return;
  }
  const std::optional<std::vector<size_t>> places = places_by_name(one, other);
  require(one.num_args == other.num_args || places, "the programs take different arguments: ", signature(one),
          " in A, ", signature(other), " in B");
  require_count(one, args_.size());
  const auto is_own_place = [&](size_t i) { return !places || (*places)[i] == i; };
  for (size_t i = 0; i < static_cast<size_t>(other.num_args); ++i) {
    b_args_.push_back(args_[places ? (*places)[i] : i]);
    if (!is_own_place(i))
      order_note_ = concat("B takes other parameters than A, ", signature(other), " and not ", signature(one),
                           ": it gets the arguments of the same names");
  }
}

// A's run changes KV states. Unless B was given states of its own, it gets copies of A's initial ones, with B's
// kernels.
void Comparison::separate_states() {
  const auto counterpart = [this](const Function &kernel) {
    const std::string name = a_vm_.name_of(kernel);
    if (name.empty()) return Ref<Function>::share(const_cast<Function *>(&kernel));  // a host function
    Ref<Function> found = b_vm_.find_function_named(name);
    if (!found) fail(OPD_NOT_FOUND, "B has no function ", name);
    return found;
  };
  for (View &arg : b_args_) {
    KvState *const state = try_kv_state(arg);
    const auto is_it = [&](const View &of_a) { return try_kv_state(of_a) == state; };
    if (!state || std::ranges::none_of(args_, is_it)) continue;
    try {
      const KvUse alone(*state);
      arg = states_of_b_.emplace_back(copy_of(*state, counterpart)).view();
    } catch (const Exception &) {}  // the report notes that both share the state
  }
}

// Counts the operators that agree, and finds the unknown values that prevent a verdict.
void Comparison::count_agreements() {
  for (size_t b = 0; b < b_.calls.size(); ++b) {
    const int32_t a = matching_.of_b[b];
    if (a == CallMatching::kNone) continue;
    const Agreement agreement = comparer_->compare_outputs(a_.calls[static_cast<size_t>(a)], b_.calls[b]);
    ++num_matched_;
    num_equal_ += agreement == Agreement::kEqual;
    num_unknown_ += agreement == Agreement::kUnknown;
  }
  bool is_unknown = num_unknown_ > 0;
  for (size_t i = 0; i < std::min(a_.results.size(), b_.results.size()); ++i)
    is_unknown |= comparer_->compare(a_.results[i].after, b_.results[i].after).agreement == Agreement::kUnknown;
  if (is_unknown) undecided_ = "values were not kept, and their bits differ";
  else if (!has_failure() && has_functions(a_.result, b_.result))
    undecided_ = "the result has functions, which cannot be compared";
}

RecordedRun Comparison::record(Vm &vm, const char *side, Args args) {
  check_stop();
  const std::vector<Value> own = own_arguments(vm, args);
  const auto fail_here = [side](const Error &error) {
    const std::array<TextPart, 3> message{as_part(side), as_part(": "), as_part(error.message)};
    throw_error(error.code, message, error.kind);
  };
  RecordedRun run;
  try {
    run = record_calls(vm, store_, function_, views_of(own), settings());
  } catch (const Exception &e) {
    const opd_code code = e.error()->code;
    if (code != OPD_INVALID_ARGUMENT && code != OPD_NOT_FOUND) throw;
    fail_here(*e.error());
  }
  if (!run.failure) return run;
  if (run.failure->code == OPD_CANCELLED) throw Exception(run.failure);  // the error may be from the caller's handler
  if (run.failure->code == OPD_DEADLINE_EXCEEDED) fail_here(*run.failure);
  return run;
}

CallSettings Comparison::settings() const {
  CallSettings settings;
  settings.cancel = options_.cancel;
  if (deadline_ns_) settings.timeout_ns = std::max<int64_t>(1, deadline_ns_ - static_cast<int64_t>(monotonic_ns()));
  return settings;
}

// The VM checks during runs. Comparing values between runs may take equally long.
void Comparison::check_stop() const {
  for (CancelToken *token : {options_.cancel, static_cast<CancelToken *>(thread_state().cancel)}) {
    if (!token) continue;
    if (token->is_cancelled) throw Exception(make_cancel_error(CancelReason::kCancelled, "while values were compared"));
    if (Ref<Error> error = token->is_asked ? token->ask() : nullptr) throw Exception(std::move(error));
  }
  if (deadline_ns_ && static_cast<int64_t>(monotonic_ns()) > deadline_ns_)
    throw Exception(make_cancel_error(CancelReason::kDeadline, "while values were compared"));
}

std::string Comparison::failure_text() const {
  if (a_.failure && b_.failure && a_.failure->message == b_.failure->message)
    return concat("both fail: ", a_.failure->message);
  std::string out;
  if (a_.failure) out = concat("A fails: ", a_.failure->message);
  if (b_.failure) out += concat(out.empty() ? "" : "; ", "B fails: ", b_.failure->message);
  return out;
}

std::string Comparison::agreement_text() const {
  const size_t known = num_matched_ - num_unknown_;
  std::string out = num_matched_ == 0 ? "no operator was matched"
                                      : concat(counted(known, "operator"), known == 1 ? " agrees" : " agree");
  if (known > 0)
    out += num_equal_ == num_matched_ ? " bit for bit" : concat(", ", num_equal_, " of them bit for bit").c_str();
  if (num_unknown_) out += concat("; of ", num_unknown_, ", ", undecided_);
  else if (!undecided_.empty()) out += "; " + undecided_;
  return out;
}

std::string Comparison::verdict() const {
  std::string out = failure_text();
  if (first_.is_found) out += (out.empty() ? "" : "; ") + first_.sentence();
  else if (!result_problem_.empty()) out += concat("no operator differs, but ", result_problem_);
  else if (!out.empty()) out += "; before that, " + agreement_text();
  else out = (undecided_.empty() ? "no difference: " : "undecided: ") + agreement_text();
  const auto count_open = [](const std::vector<int32_t> &partners) {
    return static_cast<size_t>(std::ranges::count(partners, CallMatching::kNone));
  };
  const size_t of_a = count_open(matching_.of_a), of_b = count_open(matching_.of_b);
  if ((of_a || of_b) && !has_failure()) out += concat(" (without a counterpart: ", of_a, " of A, ", of_b, " of B)");
  return out;
}

// The runs alternate, so that changes on the machine affect both programs.
Ref<Report> Comparison::measure_times() const {
  if (has_failure() || options_.repeat == 0) return nullptr;
  std::vector<Ref<Report>> reports[2];
  for (int32_t turn = 0; turn < options_.repeat; ++turn)
    for (const int side : {turn % 2, 1 - turn % 2}) {
      check_stop();
      Vm &vm = side == 0 ? a_vm_ : b_vm_;
      VmProfileOptions how;
      how.warmup = turn == 0 ? 1 : 0;
      how.max_calls = uint64_t{1} << 20;
      how.turn = turn + 1;
      const std::vector<Value> own = own_arguments(vm, side == 0 ? args_ : b_args());
      reports[side].push_back(profile_named(vm, function_, views_of(own), settings(), how).report);
    }
  std::vector<const Report *> runs[2];
  for (const int side : {0, 1})
    for (const Ref<Report> &report : reports[side]) runs[side].push_back(report.get());
  return Diff::of_reports(runs[0], runs[1], DiffOptions())->to_report();
}

}  // namespace opd
