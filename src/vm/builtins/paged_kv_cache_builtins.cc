// Builtins that make and use the paged attention cache of language models.
#include "vm/builtins/builtins.h"
#include "vm/kv/kv_checkpoint.h"
#include "vm/kv/paged_kv_cache.h"

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

// Runs `body(cache)` alone and returns its value.
template <class F>
auto use_cache(Args args, const F &body) {
  PagedKvCache &cache = cache_of(args[0]);
  const KvUse alone(cache);
  return body(cache);
}

const DLTensor &output(const View &v, std::string_view what) { return writable_dltensor(v, what); }

Value attention_with_fused_qkv(Args args) {
  check_count(args, 5, 5, "(kv_cache, layer, sm_scale, qkv, output)");
  use_cache(args, [&](PagedKvCache &cache) {
    cache.attend_fused(as_int(args[1], "layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "qkv"),
                       output(args[4], "the output"));
  });
  return {};
}

Value self_attention(Args args) {
  check_count(args, 8, 8, "(kv_cache, layer, sm_scale, q, k, v, output, lse)");
  use_cache(args, [&](PagedKvCache &cache) {
    cache.attend_self(as_int(args[1], "layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "q"),
                      as_dltensor(args[4], "k"), as_dltensor(args[5], "v"), output(args[6], "the output"),
                      output(args[7], "lse"));
  });
  return {};
}

Value cross_attention(Args args) {
  check_count(args, 6, 6, "(kv_cache, layer, sm_scale, q, output, lse)");
  use_cache(args, [&](PagedKvCache &cache) {
    cache.attend_pages(as_int(args[1], "layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "q"),
                       output(args[4], "the output"), output(args[5], "lse"));
  });
  return {};
}

Value attention_with_shared_kv(Args args) {
  check_count(args, 7, 7, "(kv_cache, source_layer, sm_scale, q, current_k, current_v, output)");
  use_cache(args, [&](PagedKvCache &cache) {
    cache.attend_shared(as_int(args[1], "source_layer"), as_float(args[2], "sm_scale"), as_dltensor(args[3], "q"),
                        as_dltensor(args[4], "current_k"), as_dltensor(args[5], "current_v"),
                        output(args[6], "the output"));
  });
  return {};
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
  use_cache(args, [&](PagedKvCache &cache) {
    cache.enable_window(as_int(args[1], "seq_id"), as_int(args[2], "sliding_window_size"),
                        as_int(args[3], "attn_sink_size"));
  });
  return {};
}

Value commit_accepted_token_tree_nodes(Args args) {
  check_count(args, 3, 3, "(kv_cache, seq_ids, leaf_indices)");
  const Integers ids(args[1], "seq_ids"), leaves(args[2], "leaf_indices");
  require_batch(ids.view(), leaves.view(), "leaf_indices", -1);
  use_cache(args, [&](PagedKvCache &cache) { cache.commit(ids.view(), leaves.view()); });
  return {};
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
  use_cache(args, [&](PagedKvCache &cache) {
    const DLTensor &values = output(args[5], "v");
    cache.debug_get(as_int(args[1], "seq_id"), as_int(args[2], "start_pos"), as_int(args[3], "end_pos"),
                    output(args[4], "k"), &values);
  });
  return {};
}

Value debug_get_kv_mla(Args args) {
  check_count(args, 5, 5, "(kv_cache, seq_id, start_pos, end_pos, kv)");
  use_cache(args, [&](PagedKvCache &cache) {
    cache.debug_get(as_int(args[1], "seq_id"), as_int(args[2], "start_pos"), as_int(args[3], "end_pos"),
                    output(args[4], "kv"), nullptr);
  });
  return {};
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
  use_cache(args, [&](PagedKvCache &cache) {
    cache.export_group(as_int(args[1], "seq_id"), as_int(args[2], "group_id"), output(args[3], "the tensor"));
  });
  return {};
}

Value prepare_import(Args args) {
  check_count(args, 3, 3, "(kv_cache, seq_id, metadata)");
  use_cache(args, [&](PagedKvCache &cache) {
    cache.prepare_import(as_int(args[1], "seq_id"), as_text(args[2], "metadata"));
  });
  return {};
}

Value import_page_group(Args args) {
  check_count(args, 4, 4, "(kv_cache, seq_id, group_id, tensor)");
  use_cache(args, [&](PagedKvCache &cache) {
    cache.import_group(as_int(args[1], "seq_id"), as_int(args[2], "group_id"), as_dltensor(args[3], "the tensor"));
  });
  return {};
}

Value finish_import(Args args) {
  check_count(args, 2, 2, "(kv_cache, seq_id)");
  use_cache(args, [&](PagedKvCache &cache) { cache.finish_import(as_int(args[1], "seq_id")); });
  return {};
}

constexpr Builtin kPagedKvCacheBuiltins[] = {
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
};

}  // namespace

std::span<const Builtin> paged_kv_cache_builtins() { return kPagedKvCacheBuiltins; }

}  // namespace opd
