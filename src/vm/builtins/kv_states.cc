// Builtins that make and use KV states of a particular kind: the paged attention cache of language models, and the
// states of recurrent networks.
#include "vm/builtins/builtins.h"
#include "vm/kv/paged_kv_cache.h"
#include "vm/kv/rnn_state.h"
#include "vm/vm.h"

namespace opd {
namespace {

constexpr size_t kNumSettings = 13, kNumArguments = 28;

PagedKvCache &cache_of(const View &v) { return as<PagedKvCache>(v, "kv_cache"); }

Value create_paged_cache(Args args) {
  // A 29th argument belongs to a mode that TVM no longer has.
  if (args.size() != kNumArguments && args.size() != kNumArguments + 1)
    fail(OPD_INVALID_ARGUMENT, "expected ", kNumArguments, " arguments, but got ", args.size());
  KvConfig config = KvConfig::from(args.first(kNumSettings));
  return make_object<PagedKvCache>(std::move(config),
                                   KvKernels(args.subspan(kNumSettings, kNumArguments - kNumSettings)));
}

// Runs `body(cache)` alone. Returns its value, or None if it has none.
template <class F>
Value use_cache(Args args, const F &body) {
  PagedKvCache &cache = cache_of(args[0]);
  const KvUse alone(cache);
  if constexpr (std::is_void_v<decltype(body(cache))>) return body(cache), Value();
  else return body(cache);
}

const DLTensor &output(const View &v, std::string_view what) { return writable_dltensor(v, what); }

Value attention_with_fused_qkv(Args args) {
  check_count(args, 5, 5, "(kv_cache, layer, sm_scale, qkv, output)");
  return use_cache(args, [&](PagedKvCache &cache) {
    cache.attend_fused(as_int(args[1], "layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "qkv"),
                       output(args[4], "the output"));
  });
}

Value self_attention(Args args) {
  check_count(args, 8, 8, "(kv_cache, layer, sm_scale, q, k, v, output, lse)");
  return use_cache(args, [&](PagedKvCache &cache) {
    cache.attend_self(as_int(args[1], "layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "q"),
                      as_dltensor(args[4], "k"), as_dltensor(args[5], "v"), output(args[6], "the output"),
                      output(args[7], "lse"));
  });
}

Value cross_attention(Args args) {
  check_count(args, 6, 6, "(kv_cache, layer, sm_scale, q, output, lse)");
  return use_cache(args, [&](PagedKvCache &cache) {
    cache.attend_pages(as_int(args[1], "layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "q"),
                       output(args[4], "the output"), output(args[5], "lse"));
  });
}

Value attention_with_shared_kv(Args args) {
  check_count(args, 7, 7, "(kv_cache, source_layer, sm_scale, q, current_k, current_v, output)");
  return use_cache(args, [&](PagedKvCache &cache) {
    cache.attend_shared(as_int(args[1], "source_layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "q"),
                        as_dltensor(args[4], "current_k"), as_dltensor(args[5], "current_v"),
                        output(args[6], "the output"));
  });
}

Value merge_attn_output_inplace(Args args) {
  check_count(args, 5, 5, "(kv_cache, o_self, lse_self, o_cross, lse_cross)");
  for (const size_t i : {size_t{1}, size_t{2}}) output(args[i], i == 1 ? "o_self" : "lse_self");
  for (const size_t i : {size_t{3}, size_t{4}}) as_dltensor(args[i], i == 3 ? "o_cross" : "lse_cross");
  use_cache(args, [&](PagedKvCache &cache) { cache.merge(args[1], args[2], args[3], args[4]); });
  return Array::make(args.subspan(1, 2));
}

Value append_mla_kv(Args args) {
  check_count(args, 3, 3, "(kv_cache, layer, kv)");
  use_cache(args,
            [&](PagedKvCache &cache) { cache.append_latent(as_int(args[1], "layer"), as_dltensor(args[2], "kv")); });
  return Value(args[0]);
}

Value get_query_positions(Args args) {
  check_count(args, 1, 1, "(kv_cache)");
  return use_cache(args, [](PagedKvCache &cache) { return Value(cache.query_positions()); });
}

Value enable_sliding_window_for_seq(Args args) {
  check_count(args, 4, 4, "(kv_cache, seq_id, sliding_window_size, attn_sink_size)");
  return use_cache(args, [&](PagedKvCache &cache) {
    cache.enable_window(as_int(args[1], "seq_id"), as_int(args[2], "sliding_window_size"),
                        as_int(args[3], "attn_sink_size"));
  });
}

Value commit_accepted_token_tree_nodes(Args args) {
  check_count(args, 3, 3, "(kv_cache, seq_ids, leaf_indices)");
  const Integers ids(args[1], "seq_ids"), leaves(args[2], "leaf_indices");
  require_batch(ids.view(), leaves.view(), "leaf_indices", -1);
  return use_cache(args, [&](PagedKvCache &cache) { cache.commit(ids.view(), leaves.view()); });
}

Value is_empty(Args args) {
  check_count(args, 1, 1, "(kv_cache)");
  return use_cache(args, [](PagedKvCache &cache) { return Value(cache.sequences().is_empty()); });
}

Value get_num_available_pages(Args args) {
  check_count(args, 1, 1, "(kv_cache)");
  return use_cache(args, [](PagedKvCache &cache) { return Value(cache.sequences().num_free_pages()); });
}

Value get_total_sequence_length(Args args) {
  check_count(args, 1, 1, "(kv_cache)");
  return use_cache(args, [](PagedKvCache &cache) { return Value(cache.sequences().num_rows()); });
}

Value get_sequence_length(Args args) {
  check_count(args, 2, 2, "(kv_cache, seq_id)");
  return use_cache(args,
                   [&](PagedKvCache &cache) { return Value(cache.sequences().get(as_int(args[1], "seq_id")).length); });
}

Value debug_get_kv(Args args) {
  check_count(args, 6, 6, "(kv_cache, seq_id, start_pos, end_pos, k, v)");
  return use_cache(args, [&](PagedKvCache &cache) {
    const DLTensor &values = output(args[5], "v");
    cache.debug_get(as_int(args[1], "seq_id"), as_int(args[2], "start_pos"), as_int(args[3], "end_pos"),
                    output(args[4], "k"), &values);
  });
}

Value debug_get_kv_mla(Args args) {
  check_count(args, 5, 5, "(kv_cache, seq_id, start_pos, end_pos, kv)");
  return use_cache(args, [&](PagedKvCache &cache) {
    cache.debug_get(as_int(args[1], "seq_id"), as_int(args[2], "start_pos"), as_int(args[3], "end_pos"),
                    output(args[4], "kv"), nullptr);
  });
}

Value get_layout_hash(Args args) {
  check_count(args, 1, 1, "(kv_cache)");
  return use_cache(args, [](PagedKvCache &cache) { return Value(checkpoint_layout_hash(cache.config())); });
}

Value get_checkpoint_metadata(Args args) {
  check_count(args, 2, 2, "(kv_cache, seq_id)");
  return use_cache(args,
                   [&](PagedKvCache &cache) { return Value(cache.checkpoint_metadata(as_int(args[1], "seq_id"))); });
}

Value export_page_group(Args args) {
  check_count(args, 4, 4, "(kv_cache, seq_id, group_id, tensor)");
  return use_cache(args, [&](PagedKvCache &cache) {
    cache.export_group(as_int(args[1], "seq_id"), as_int(args[2], "group_id"), output(args[3], "the tensor"));
  });
}

Value prepare_import(Args args) {
  check_count(args, 3, 3, "(kv_cache, seq_id, metadata)");
  return use_cache(args, [&](PagedKvCache &cache) {
    cache.prepare_import(as_int(args[1], "seq_id"), as_text(args[2], "metadata"));
  });
}

Value import_page_group(Args args) {
  check_count(args, 4, 4, "(kv_cache, seq_id, group_id, tensor)");
  return use_cache(args, [&](PagedKvCache &cache) {
    cache.import_group(as_int(args[1], "seq_id"), as_int(args[2], "group_id"), as_dltensor(args[3], "the tensor"));
  });
}

Value finish_import(Args args) {
  check_count(args, 2, 2, "(kv_cache, seq_id)");
  return use_cache(args, [&](PagedKvCache &cache) { cache.finish_import(as_int(args[1], "seq_id")); });
}

// ---- the states of recurrent networks

constexpr int64_t kMostLayers = 4096;  // each layer costs memory, even with small states

int64_t size_of(const View &v, const char *what, int64_t most = kMostKvSize - 1) {
  const int64_t size = as_int(v, what);
  if (size < 1 || size > most) fail(OPD_OUT_OF_RANGE, what, " must be from 1 to ", most, ", but is ", size);
  return size;
}

Value create_state(Args args) {
  check_count(args, 6, 6, "(num_layers, max_batch_size, max_history, f_gets, f_sets, init_layer_value)");
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

RnnState &state_of(const View &v) { return as<RnnState>(v, "state"); }

Value get(Args args) {
  check_count(args, 4, 4, "(state, layer_id, state_id, output)");
  RnnState &state = state_of(args[0]);
  writable_dltensor(args[3], "the output");
  const KvUse alone(state);
  state.get(as_int(args[1], "layer_id"), as_int(args[2], "state_id"), args[3]);
  return {};
}

Value set(Args args) {
  check_count(args, 4, 4, "(state, layer_id, state_id, data)");
  RnnState &state = state_of(args[0]);
  as_dltensor(args[3], "data");
  const KvUse alone(state);
  state.set(as_int(args[1], "layer_id"), as_int(args[2], "state_id"), args[3]);
  return Value(args[0]);
}

Value debug_get(Args args) {
  check_count(args, 4, 4, "(state, layer_id, state_id, seq_id)");
  RnnState &state = state_of(args[0]);
  const KvUse alone(state);
  return state.debug_get(as_int(args[1], "layer_id"), as_int(args[2], "state_id"), as_int(args[3], "seq_id"));
}

constexpr Builtin kKvKindBuiltins[] = {
    builtin<"vm.builtin.paged_attention_kv_cache_create", create_paged_cache>(),
    builtin<"vm.builtin.attention_kv_cache_attention_with_fused_qkv", attention_with_fused_qkv>(),
    builtin<"vm.builtin.attention_kv_cache_self_attention", self_attention>(),
    builtin<"vm.builtin.attention_kv_cache_cross_attention", cross_attention>(),
    builtin<"vm.builtin.attention_kv_cache_attention_with_shared_kv", attention_with_shared_kv>(),
    builtin<"vm.builtin.attention_kv_cache_merge_attn_output_inplace", merge_attn_output_inplace>(),
    builtin<"vm.builtin.attention_kv_cache_append_mla_kv", append_mla_kv>(),
    builtin<"vm.builtin.attention_kv_cache_get_query_positions", get_query_positions>(),
    builtin<"vm.builtin.attention_kv_cache_enable_sliding_window_for_seq", enable_sliding_window_for_seq>(),
    builtin<"vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes", commit_accepted_token_tree_nodes>(),
    builtin<"vm.builtin.attention_kv_cache_empty", is_empty>(),
    builtin<"vm.builtin.attention_kv_cache_get_num_available_pages", get_num_available_pages>(),
    builtin<"vm.builtin.attention_kv_cache_get_total_sequence_length", get_total_sequence_length>(),
    builtin<"vm.builtin.attention_kv_cache_get_sequence_length", get_sequence_length>(),
    builtin<"vm.builtin.attention_kv_cache_debug_get_kv", debug_get_kv>(),
    builtin<"vm.builtin.attention_kv_cache_debug_get_kv_mla", debug_get_kv_mla>(),
    builtin<"vm.builtin.attention_kv_cache_get_layout_hash", get_layout_hash>(),
    builtin<"vm.builtin.attention_kv_cache_get_checkpoint_metadata", get_checkpoint_metadata>(),
    builtin<"vm.builtin.attention_kv_cache_export_page_group", export_page_group>(),
    builtin<"vm.builtin.attention_kv_cache_prepare_import", prepare_import>(),
    builtin<"vm.builtin.attention_kv_cache_import_page_group", import_page_group>(),
    builtin<"vm.builtin.attention_kv_cache_finish_import", finish_import>(),
    builtin<"vm.builtin.rnn_state_create", create_state>(),
    builtin<"vm.builtin.rnn_state_get", get>(),
    builtin<"vm.builtin.rnn_state_set", set>(),
    builtin<"vm.builtin.rnn_state_debug_get", debug_get>(),
};

}  // namespace

std::span<const Builtin> kv_kind_builtins() { return kKvKindBuiltins; }

}  // namespace opd
