// Attention on a paged cache: the kernels that a pass calls, their order and their tables.
#include "device/device.h"
#include "vm/kv/paged_kv_cache.h"
#include "vm/pool.h"

namespace opd {
namespace {

// TVM computes layers that have their own window with these values, not with the cache's.
constexpr double kWindowTheta = 10000, kWindowScale = 1;

}  // namespace

void PagedKvCache::append(size_t layer, View k, View v) {
  KvView pages = pages_of(layer), places = table(forward_.places);
  const View args[] = {pages, k, v, places};
  run_kernel(kernels_.append, "new rows", args);
  note_write(*stores_[layer], MemoryUse::kCache);
}

// Computes the attention among the new rows.
void PagedKvCache::attend_new(double scale, size_t layer, Rows &rows, KvView &out, KvView &lse) {
  const bool is_window = config_.kinds[layer] == KvLayerKind::kWindow;
  const View rotary = opd_int(config_.rope == KvRope::kInline),
             rope_scale = opd_float(is_window ? kWindowScale : config_.rope_scale),
             theta = opd_float(is_window ? kWindowTheta : config_.rope_theta);
  KvView begins = table(forward_.query_begins), positions = table(forward_.query_positions);
  if (forward_.masks_new()) {
    KvView order_begins = table(forward_.order_begins), orders = pairs(forward_.orders);
    const View args[] = {rows.q, begins, rows.k, rows.v, begins,     positions, order_begins,
                         orders, out,    lse,    rotary, rope_scale, theta,     opd_float(scale)};
    kernels_.run_ragged_tree(args);
    return;
  }
  KvView offsets = table(forward_.rope_offsets);
  const View args[] = {rows.q, begins, rows.k,     rows.v, begins,     positions, offsets,
                       out,    lse,    opd_int(1), rotary, rope_scale, theta,     opd_float(scale)};
  run_kernel(kernels_.ragged, "attention among new rows", args);
}

void PagedKvCache::attend_depth(size_t layer, double scale, const KvDepth &depth, KvView &q, KvView &out, KvView &lse) {
  const KvLayerKind kind = config_.kinds[layer];
  const bool is_window = kind == KvLayerKind::kWindow, has_lines = is_window || config_.has_windows;
  const KvPages &read = is_window ? depth.window : depth.all;
  KvView pages = pages_of(layer), begins = table(read.begins), indices = table(read.pages),
         lengths = has_lines ? lines(read.lengths, 3) : table(read.lengths), offsets = table(read.positions),
         query_begins = table(depth.query_begins), positions = table(forward_.query_positions);
  const View rotary = opd_int(config_.rope == KvRope::kInline),
             rope_scale = opd_float(is_window ? kWindowScale : config_.rope_scale),
             theta = opd_float(is_window ? kWindowTheta : config_.rope_theta), sm = opd_float(scale);
  if (kind == KvLayerKind::kLatent) {
    const View args[] = {q, query_begins, pages, begins, indices, lengths, out, lse, opd_int(0), sm};
    return run_kernel(kernels_.mla, "MLA", args);
  }
  if (depth.masks) {
    KvView order_begins = table(depth.order_begins), orders = pairs(depth.orders, depth.order_margin);
    const View args[] = {q,   query_begins, pages,  begins,     indices, lengths, offsets,      positions,
                         out, lse,          rotary, rope_scale, theta,   sm,      order_begins, orders};
    return kernels_.run_prefill_tree(args);
  }
  if (depth.decodes) {
    const View args[] = {q,   pages, begins, indices,    lengths, offsets, positions,
                         out, lse,   rotary, rope_scale, theta,   sm};
    return run_kernel(has_lines ? kernels_.decode_window : kernels_.decode, "the decoding of single rows", args);
  }
  const View causal = opd_int(is_window && !forward_.appends_before());
  const View args[] = {q,   query_begins, pages,  begins, indices,    lengths, offsets, positions,
                       out, lse,          causal, rotary, rope_scale, theta,   sm};
  run_kernel(has_lines ? kernels_.prefill_window : kernels_.prefill, "attention on pages", args);
}

// Returns true if nothing was computed yet.
bool PagedKvCache::attend_depths(size_t layer, double scale, KvView &q, KvView &out, KvView &lse, bool is_first) {
  for (const KvDepth &depth : forward_.depths()) {
    const KvPages &read = config_.kinds[layer] == KvLayerKind::kWindow ? depth.window : depth.all;
    if (read.pages.empty()) continue;
    if (is_first) {
      attend_depth(layer, scale, depth, q, out, lse);
      is_first = false;
      continue;
    }
    KvView more(more_out_->dl, {out.dim(0), out.dim(1), out.dim(2)}),
        more_lse(more_lse_->dl, {forward_.num_rows(), config_.query_heads});
    attend_depth(layer, scale, depth, q, more, more_lse);
    const View args[] = {out, lse, more, more_lse};
    run_kernel(kernels_.merge, "merging", args);
  }
  return is_first;
}

void PagedKvCache::fill_unseen(KvView &out, KvView &lse) {
  constexpr float kNoWeight = -5e4F;  // kernels use the same value
  const std::vector<float> none(static_cast<size_t>(lse.dim(0) * lse.dim(1)), kNoWeight);
  const std::vector<char> zeros(bytes_of(*out));
  copy_from_bytes(*lse, none.data(), none.size() * sizeof(float));
  copy_from_bytes(*out, zeros.data(), zeros.size());
}

void PagedKvCache::attend(size_t layer, double scale, Rows &rows, KvView &out, KvView &lse) {
  if (!forward_.appends_before()) attend_new(scale, layer, rows, out, lse);
  attend_depths(layer, scale, rows.q, out, lse, forward_.appends_before());
}

void PagedKvCache::attend_fused(int64_t layer, double scale, const DLTensor &qkv, const DLTensor &out) {
  require_running("attention_with_fused_qkv");
  const size_t index = local(layer, false);
  const KvConfig &c = config_;
  const int64_t rows = forward_.num_rows();
  KvView given = checked(qkv, "qkv", c.query_heads + 2 * c.kv_heads, c.key_dim);
  KvView result = checked(out, "the output", c.query_heads, c.value_dim);
  Rows split{{q_->dl, {rows, c.query_heads, c.key_dim}},
             {k_->dl, {rows, c.kv_heads, c.key_dim}},
             {v_->dl, {rows, c.kv_heads, c.value_dim}}};
  KvView positions = table(forward_.query_positions), lse(lse_->dl, {rows, c.query_heads});
  is_touched_ = true;
  const View rotates = c.rope_factors ? view_of(c.rope_factors.get()) : opd_int(c.rope == KvRope::kNormal);
  const View args[] = {given, positions, split.q, split.k, split.v, rotates};
  run_kernel(kernels_.split_rotary, "q, k and v", args);
  if (forward_.appends_before()) append(index, split.k, split.v);
  attend(index, scale, split, result, lse);
  if (!forward_.appends_before()) append(index, split.k, split.v);
}

void PagedKvCache::attend_shared(int64_t layer, double scale, const DLTensor &q, const DLTensor &k, const DLTensor &v,
                                 const DLTensor &out) {
  require_running("attention_with_shared_kv");
  const size_t index = local(layer, false);
  const KvConfig &c = config_;
  Rows rows{checked(q, "q", c.query_heads, c.key_dim), checked(k, "current_k", c.kv_heads, c.key_dim),
            checked(v, "current_v", c.kv_heads, c.value_dim)};
  KvView result = checked(out, "the output", c.query_heads, c.value_dim),
         lse(lse_->dl, {forward_.num_rows(), c.query_heads});
  is_touched_ = true;
  attend(index, scale, rows, result, lse);
}

void PagedKvCache::attend_self(int64_t layer, double scale, const DLTensor &q, const DLTensor &k, const DLTensor &v,
                               const DLTensor &out, const DLTensor &lse) {
  require_running("self_attention");
  const size_t index = local(layer, is_latent(layer));
  Rows rows{checked(q, "q", config_.query_heads, -1), checked(k, "k", -1, -1), checked(v, "v", -1, -1)};
  KvView result = checked(out, "the output", config_.query_heads, -1), result_lse = checked_lse(lse, "lse");
  is_touched_ = true;
  attend_new(scale, index, rows, result, result_lse);
}

void PagedKvCache::attend_pages(int64_t layer, double scale, const DLTensor &q, const DLTensor &out,
                                const DLTensor &lse) {
  require_running("cross_attention");
  const size_t index = local(layer, is_latent(layer));
  KvView queries = checked(q, "q", config_.query_heads, config_.key_dim);
  KvView result = checked(out, "the output", config_.query_heads, config_.value_dim),
         result_lse = checked_lse(lse, "lse");
  is_touched_ = true;
  if (attend_depths(index, scale, queries, result, result_lse, true)) fill_unseen(result, result_lse);
}

void PagedKvCache::append_latent(int64_t layer, const DLTensor &rows) {
  require_running("append_mla_kv");
  const size_t index = local(layer, true);
  const bool fits = rows.ndim == 2 && rows.shape[0] >= forward_.num_rows() && rows.shape[1] == config_.key_dim &&
                    same(rows.dtype, config_.dtype) && same(rows.device, config_.device) && is_contiguous(rows);
  if (!fits)  // not require(): it would make the parts of the message in each pass
    fail(OPD_INVALID_ARGUMENT, "kv must be a compact ", dtype_name(config_.dtype), " tensor of at least ",
         forward_.num_rows(), " rows of size ", config_.key_dim, ", but is ", describe(rows));
  is_touched_ = true;
  KvView given(rows, {forward_.num_rows(), config_.key_dim});
  KvView pages = pages_of(index), places = table(forward_.places);
  const View args[] = {pages, given, places};
  run_kernel(kernels_.append_mla, "new rows of MLA", args);
  note_write(*stores_[index], MemoryUse::kCache);
}

void PagedKvCache::merge(const View &out, const View &lse, const View &more, const View &more_lse) {
  const View args[] = {out, lse, more, more_lse};
  run_kernel(kernels_.merge_mla ? kernels_.merge_mla : kernels_.merge, "merging", args);
}

Ref<Tensor> PagedKvCache::query_positions() {
  require_running("get_query_positions");
  const int64_t dims[] = {forward_.num_rows()};
  auto positions = make_lasting_tensor(dims, kKvTableType, config_.device, MemoryUse::kTensor);
  KvView host(forward_.query_positions.data(), 0, kKvTableType, kHost, {dims[0]});
  copy_tensor(*host, positions->dl);
  return positions;
}

}  // namespace opd
