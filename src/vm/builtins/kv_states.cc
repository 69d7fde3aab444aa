// Builtins that make and use KV states: those for the sequences of a state of any kind, which hosts call between the
// calls of the program, those of the paged attention cache of language models, and those of recurrent networks.
#include "vm/builtins/builtins.h"
#include "vm/kv/paged_kv_cache.h"
#include "vm/kv/rnn_state.h"
#include "vm/vm.h"

namespace opd {
namespace {

template <class State>
State &state_in(const View &v) {
  if constexpr (std::is_same_v<State, KvState>) return as_kv_state(v, "state");
  else return as<State>(v, std::is_same_v<State, PagedKvCache> ? "kv_cache" : "state");
}

template <class Result, class State>
Value run_alone(Result (*body)(State &, Args), Args args) {
  State &state = state_in<State>(args[0]);
  const KvUse alone(state);
  if constexpr (std::is_void_v<Result>) return body(state, args), Value();
  else return body(state, args);
}
// Runs a body that gets the state in the first argument, and all arguments. No other call uses the state meanwhile.
// Returns the body's result, or None if it has none.
template <auto kBody>
Value alone(Args args) {
  return run_alone(kBody, args);
}

// ---- sequences of any state

void clear(KvState &state, Args) { state.clear(); }
void add_sequence(KvState &state, Args args) { state.add_sequence(as_int(args[1], "seq_id")); }
void remove_sequence(KvState &state, Args args) { state.remove_sequence(as_int(args[1], "seq_id")); }
void fork_sequence(KvState &state, Args args) {
  const int64_t position = args.size() == 4 ? as_int(args[3], "fork_pos") : -1;
  state.fork_sequence(as_int(args[1], "parent_seq_id"), as_int(args[2], "child_seq_id"), position);
}
void popn(KvState &state, Args args) { state.pop(as_int(args[1], "seq_id"), as_int(args[2], "n")); }

void begin_forward(KvState &state, Args args) {
  const Integers ids(args[1], "seq_ids"), counts(args[2], "append_lengths");
  std::optional<Integers> parents;
  if (args.size() == 4 && args[3].type != OPD_NONE) parents.emplace(args[3], "token_tree_parent");
  require_batch(ids.view(), counts.view(), "append_lengths", 1);
  state.begin_forward(ids.view(), counts.view(), parents ? std::optional(parents->view()) : std::nullopt);
}

void end_forward(KvState &state, Args) { state.end_forward(); }

// ---- the paged attention cache

constexpr size_t kNumSettings = 13, kNumArguments = 28;

Value create_paged_cache(Args args) {
  // A 29th argument belongs to a mode that TVM no longer has.
  if (args.size() != kNumArguments && args.size() != kNumArguments + 1)
    fail(OPD_INVALID_ARGUMENT, "expected ", kNumArguments, " arguments, but got ", args.size());
  KvConfig config = KvConfig::from(args.first(kNumSettings));
  return make_object<PagedKvCache>(std::move(config),
                                   KvKernels(args.subspan(kNumSettings, kNumArguments - kNumSettings)));
}

const DLTensor &output(const View &v, std::string_view what) { return writable_dltensor(v, what); }

void attention_with_fused_qkv(PagedKvCache &cache, Args args) {
  cache.attend_fused(as_int(args[1], "layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "qkv"),
                     output(args[4], "the output"));
}

void self_attention(PagedKvCache &cache, Args args) {
  cache.attend_self(as_int(args[1], "layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "q"),
                    as_dltensor(args[4], "k"), as_dltensor(args[5], "v"), output(args[6], "the output"),
                    output(args[7], "lse"));
}

void cross_attention(PagedKvCache &cache, Args args) {
  cache.attend_pages(as_int(args[1], "layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "q"),
                     output(args[4], "the output"), output(args[5], "lse"));
}

void attention_with_shared_kv(PagedKvCache &cache, Args args) {
  cache.attend_shared(as_int(args[1], "source_layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "q"),
                      as_dltensor(args[4], "current_k"), as_dltensor(args[5], "current_v"),
                      output(args[6], "the output"));
}

Ref<Array> merge_attn_output_inplace(PagedKvCache &cache, Args args) {
  for (const size_t i : {size_t{1}, size_t{2}}) output(args[i], i == 1 ? "o_self" : "lse_self");
  for (const size_t i : {size_t{3}, size_t{4}}) as_dltensor(args[i], i == 3 ? "o_cross" : "lse_cross");
  cache.merge(args[1], args[2], args[3], args[4]);
  return Array::make(args.subspan(1, 2));
}

Value append_mla_kv(PagedKvCache &cache, Args args) {
  cache.append_latent(as_int(args[1], "layer"), as_dltensor(args[2], "kv"));
  return Value(args[0]);
}

Ref<Tensor> get_query_positions(PagedKvCache &cache, Args) { return cache.query_positions(); }

void enable_sliding_window_for_seq(PagedKvCache &cache, Args args) {
  cache.enable_window(as_int(args[1], "seq_id"), as_int(args[2], "sliding_window_size"),
                      as_int(args[3], "attn_sink_size"));
}

void commit_accepted_token_tree_nodes(PagedKvCache &cache, Args args) {
  const Integers ids(args[1], "seq_ids"), leaves(args[2], "leaf_indices");
  require_batch(ids.view(), leaves.view(), "leaf_indices", -1);
  cache.commit(ids.view(), leaves.view());
}

bool is_empty(PagedKvCache &cache, Args) { return cache.sequences().is_empty(); }
int64_t get_num_available_pages(PagedKvCache &cache, Args) { return cache.sequences().num_free_pages(); }
int64_t get_total_sequence_length(PagedKvCache &cache, Args) { return cache.sequences().num_rows(); }
int64_t get_sequence_length(PagedKvCache &cache, Args args) {
  return cache.sequences().get(as_int(args[1], "seq_id")).length;
}

void debug_get_kv(PagedKvCache &cache, Args args) {
  const DLTensor &values = output(args[5], "v");
  cache.debug_get(as_int(args[1], "seq_id"), as_int(args[2], "start_pos"), as_int(args[3], "end_pos"),
                  output(args[4], "k"), &values);
}

void debug_get_kv_mla(PagedKvCache &cache, Args args) {
  cache.debug_get(as_int(args[1], "seq_id"), as_int(args[2], "start_pos"), as_int(args[3], "end_pos"),
                  output(args[4], "kv"), nullptr);
}

std::string get_layout_hash(PagedKvCache &cache, Args) { return checkpoint_layout_hash(cache.config()); }
std::string get_checkpoint_metadata(PagedKvCache &cache, Args args) {
  return cache.checkpoint_metadata(as_int(args[1], "seq_id"));
}

void export_page_group(PagedKvCache &cache, Args args) {
  cache.export_group(as_int(args[1], "seq_id"), as_int(args[2], "group_id"), output(args[3], "the tensor"));
}

void prepare_import(PagedKvCache &cache, Args args) {
  cache.prepare_import(as_int(args[1], "seq_id"), as_text(args[2], "metadata"));
}

void import_page_group(PagedKvCache &cache, Args args) {
  cache.import_group(as_int(args[1], "seq_id"), as_int(args[2], "group_id"), as_dltensor(args[3], "the tensor"));
}

void finish_import(PagedKvCache &cache, Args args) { cache.finish_import(as_int(args[1], "seq_id")); }

// ---- the states of recurrent networks

constexpr int64_t kMostLayers = 4096;  // each layer costs memory, even with small states

int64_t size_of(const View &v, const char *what, int64_t most = kMostKvSize - 1) {
  const int64_t size = as_int(v, what);
  if (size < 1 || size > most) fail(OPD_OUT_OF_RANGE, what, " must be from 1 to ", most, ", but is ", size);
  return size;
}

Value create_state(Args args) {
  const auto &gets = as<Array>(args[3], "f_gets"), &sets = as<Array>(args[4], "f_sets"),
             &initial = as<Array>(args[5], "init_layer_value");
  require(gets.size() >= 1 && gets.size() == sets.size() && gets.size() == initial.size(),
          "f_gets, f_sets and init_layer_value must be of one length, at least 1, but are of ", gets.size(), ", ",
          sets.size(), " and ", initial.size());
  std::vector<RnnState::Kind> kinds;
  for (size_t i = 0; i < gets.size(); ++i) {
    auto &value = as<Tensor>(initial.items()[i], "an item of init_layer_value");
    require(is_contiguous(value.dl), "an item of init_layer_value must be compact, but is ", describe(value.dl));
    require(kinds.empty() || same(value.dl.device, kinds[0].initial->dl.device),
            "the items of init_layer_value must lie on one device, but are ",
            describe(kinds.empty() ? value.dl : kinds[0].initial->dl), " and ", describe(value.dl));
    kinds.push_back({lasting_function(as<Function>(gets.items()[i], "an item of f_gets")),
                     lasting_function(as<Function>(sets.items()[i], "an item of f_sets")), Ref<Tensor>::share(&value)});
  }
  return make_object<RnnState>(size_of(args[0], "num_layers", kMostLayers), size_of(args[1], "max_batch_size"),
                               size_of(args[2], "max_history"), std::move(kinds));
}

void get(RnnState &state, Args args) {
  writable_dltensor(args[3], "the output");
  state.get(as_int(args[1], "layer_id"), as_int(args[2], "state_id"), args[3]);
}

Value set(RnnState &state, Args args) {
  as_dltensor(args[3], "data");
  state.set(as_int(args[1], "layer_id"), as_int(args[2], "state_id"), args[3]);
  return Value(args[0]);
}

Ref<Tensor> debug_get(RnnState &state, Args args) {
  return state.debug_get(as_int(args[1], "layer_id"), as_int(args[2], "state_id"), as_int(args[3], "seq_id"));
}

constexpr Builtin kKvStateBuiltins[] = {
    builtin<"vm.builtin.kv_state_clear", alone<clear>, "(state)", 1>(),
    builtin<"vm.builtin.kv_state_add_sequence", alone<add_sequence>, "(state, seq_id)", 2>(),
    builtin<"vm.builtin.kv_state_remove_sequence", alone<remove_sequence>, "(state, seq_id)", 2>(),
    builtin<"vm.builtin.kv_state_fork_sequence", alone<fork_sequence>,
            "(state, parent_seq_id, child_seq_id [, fork_pos])", 3, 4>(),
    builtin<"vm.builtin.kv_state_popn", alone<popn>, "(state, seq_id, n)", 3>(),
    builtin<"vm.builtin.kv_state_begin_forward", alone<begin_forward>,
            "(state, seq_ids, append_lengths [, token_tree_parent])", 3, 4>(),
    builtin<"vm.builtin.kv_state_end_forward", alone<end_forward>, "(state)", 1>(),
    builtin<"vm.builtin.paged_attention_kv_cache_create", create_paged_cache, "(settings …, kernels …)", 0, SIZE_MAX>(),
    builtin<"vm.builtin.attention_kv_cache_attention_with_fused_qkv", alone<attention_with_fused_qkv>,
            "(kv_cache, layer, sm_scale, qkv, output)", 5>(),
    builtin<"vm.builtin.attention_kv_cache_self_attention", alone<self_attention>,
            "(kv_cache, layer, sm_scale, q, k, v, output, lse)", 8>(),
    builtin<"vm.builtin.attention_kv_cache_cross_attention", alone<cross_attention>,
            "(kv_cache, layer, sm_scale, q, output, lse)", 6>(),
    builtin<"vm.builtin.attention_kv_cache_attention_with_shared_kv", alone<attention_with_shared_kv>,
            "(kv_cache, source_layer, sm_scale, q, current_k, current_v, output)", 7>(),
    builtin<"vm.builtin.attention_kv_cache_merge_attn_output_inplace", alone<merge_attn_output_inplace>,
            "(kv_cache, o_self, lse_self, o_cross, lse_cross)", 5>(),
    builtin<"vm.builtin.attention_kv_cache_append_mla_kv", alone<append_mla_kv>, "(kv_cache, layer, kv)", 3>(),
    builtin<"vm.builtin.attention_kv_cache_get_query_positions", alone<get_query_positions>, "(kv_cache)", 1>(),
    builtin<"vm.builtin.attention_kv_cache_enable_sliding_window_for_seq", alone<enable_sliding_window_for_seq>,
            "(kv_cache, seq_id, sliding_window_size, attn_sink_size)", 4>(),
    builtin<"vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes", alone<commit_accepted_token_tree_nodes>,
            "(kv_cache, seq_ids, leaf_indices)", 3>(),
    builtin<"vm.builtin.attention_kv_cache_empty", alone<is_empty>, "(kv_cache)", 1>(),
    builtin<"vm.builtin.attention_kv_cache_get_num_available_pages", alone<get_num_available_pages>, "(kv_cache)", 1>(),
    builtin<"vm.builtin.attention_kv_cache_get_total_sequence_length", alone<get_total_sequence_length>, "(kv_cache)",
            1>(),
    builtin<"vm.builtin.attention_kv_cache_get_sequence_length", alone<get_sequence_length>, "(kv_cache, seq_id)", 2>(),
    builtin<"vm.builtin.attention_kv_cache_debug_get_kv", alone<debug_get_kv>,
            "(kv_cache, seq_id, start_pos, end_pos, k, v)", 6>(),
    builtin<"vm.builtin.attention_kv_cache_debug_get_kv_mla", alone<debug_get_kv_mla>,
            "(kv_cache, seq_id, start_pos, end_pos, kv)", 5>(),
    builtin<"vm.builtin.attention_kv_cache_get_layout_hash", alone<get_layout_hash>, "(kv_cache)", 1>(),
    builtin<"vm.builtin.attention_kv_cache_get_checkpoint_metadata", alone<get_checkpoint_metadata>,
            "(kv_cache, seq_id)", 2>(),
    builtin<"vm.builtin.attention_kv_cache_export_page_group", alone<export_page_group>,
            "(kv_cache, seq_id, group_id, tensor)", 4>(),
    builtin<"vm.builtin.attention_kv_cache_prepare_import", alone<prepare_import>, "(kv_cache, seq_id, metadata)", 3>(),
    builtin<"vm.builtin.attention_kv_cache_import_page_group", alone<import_page_group>,
            "(kv_cache, seq_id, group_id, tensor)", 4>(),
    builtin<"vm.builtin.attention_kv_cache_finish_import", alone<finish_import>, "(kv_cache, seq_id)", 2>(),
    builtin<"vm.builtin.rnn_state_create", create_state,
            "(num_layers, max_batch_size, max_history, f_gets, f_sets, init_layer_value)", 6>(),
    builtin<"vm.builtin.rnn_state_get", alone<get>, "(state, layer_id, state_id, output)", 4>(),
    builtin<"vm.builtin.rnn_state_set", alone<set>, "(state, layer_id, state_id, data)", 4>(),
    builtin<"vm.builtin.rnn_state_debug_get", alone<debug_get>, "(state, layer_id, state_id, seq_id)", 4>(),
};

}  // namespace

std::span<const Builtin> kv_state_builtins() { return kKvStateBuiltins; }

}  // namespace opd
