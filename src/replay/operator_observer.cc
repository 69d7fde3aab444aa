#include "replay/operator_observer.h"

#include <opdyno/vm.h>

#include <algorithm>

#include "base/content_hash.h"

namespace opd {
namespace {

// The builtins that run kernels of a KV state, which is their first argument.
struct StateBuiltin {
  std::string_view name;
  bool appends;  // appends rows to the layer that is the second argument
};
constexpr StateBuiltin kStateBuiltins[] = {
    {"vm.builtin.attention_kv_cache_attention_with_fused_qkv", true},
    {"vm.builtin.attention_kv_cache_attention_with_shared_kv", false},
    {"vm.builtin.attention_kv_cache_self_attention", false},
    {"vm.builtin.attention_kv_cache_cross_attention", false},
    {"vm.builtin.attention_kv_cache_merge_attn_output_inplace", false},
    {"vm.builtin.attention_kv_cache_append_mla_kv", true},
    {"vm.builtin.rnn_state_get", false},
    {"vm.builtin.rnn_state_set", true},
};

const StateBuiltin *state_builtin(std::string_view name) {
  const auto *const found = std::ranges::find(kStateBuiltins, name, &StateBuiltin::name);
  return found == std::end(kStateBuiltins) ? nullptr : found;
}

// The rows of the layer that the call appended to, after it returned.
std::string rows_after(const ObservedCall &call) {
  KvState &state = as_kv_state(call.args[0], "state");
  const KvUse alone(state);
  const bool has_kinds = call.name == "vm.builtin.rnn_state_set";
  return state.rows_of(as_int(call.args[1], "layer"), has_kinds ? as_int(call.args[2], "state_id") : 0);
}

}  // namespace

Value OperatorObserver::show(Args shown) {
  const bool is_before = as_int(shown[2], "before") != 0;
  if (also_) {
    Value answer = opd::call(*also_, shown);
    const bool is_skipped = answer.type() == OPD_INT && answer.view().u.int64 == OPD_INSTRUMENT_SKIP_RUN;
    if (is_before && is_skipped) return answer;
  }
  const std::string_view name = as_text(shown[1], "the name");
  const Args args = shown.subspan(kInstrumentHead);
  if (!is_before) return end_call(name, args, shown[3]), Value();
  if (vm_.executable().find(name)) return {};
  const bool is_nested = is_in_host();
  const ObservedCall &call = open_.begin(args) = observed(name, args);
  if (!is_nested) begin(call);
  return {};
}

ObservedCall OperatorObserver::observed(std::string_view name, Args args) const {
  ObservedCall call{std::string(name), {args.begin(), args.end()}};
  call.is_host = std::ranges::find(host_functions_, name) != host_functions_.end();
  call.is_operator = !call.is_host && (!name.starts_with(kBuiltinPrefix) || state_builtin(name));
  const Function *const kernel = kernel_of(name, args);
  if (!kernel) return call;
  call.name = vm_.looked_up_name(*kernel);
  call.args.assign(args.begin() + 1, args.end() - 1);
  for (const int64_t size : try_as<Shape>(args.back())->dims()) call.args.push_back(opd_int(size));
  call.is_operator = true;
  return call;
}

void OperatorObserver::end_call(std::string_view name, Args args, const View &result) {
  const std::optional<ObservedCall> call = open_.end(args);
  if (!call || is_in_host()) return;  // no open call: a function of the program has returned
  if (const auto *tensor = name == kAllocTensor ? try_as<Tensor>(result) : nullptr) fill_unwritten(tensor->dl);
  end(*call, result);
}

ContentsHash hash_of_call(const ObservedCall &call, const View &result, DeviceMove move) {
  ContentHash hash;
  for (const View &arg : call.args) hash.add(ValueWriter(Keeping::kHashes, {}, move).write(arg));
  if (const StateBuiltin *const builtin = state_builtin(call.name); builtin && builtin->appends)
    hash.add(rows_after(call));
  hash.add(ValueWriter(Keeping::kHashes, {}, move).write(result));
  return {hash.low(), hash.high()};
}

}  // namespace opd
