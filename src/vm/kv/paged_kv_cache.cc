#include "vm/kv/paged_kv_cache.h"

#include <algorithm>

#include "device/device.h"
#include "vm/pool.h"

namespace opd {
namespace {

constexpr DLDataType kFloat{kDLFloat, 32, 1}, kInt{kDLInt, 32, 1};
constexpr DLDevice kHostDevice{kDLCPU, 0};
// Layers with windows of their own are computed with these, whatever the cache has, as TVM does.
constexpr double kWindowTheta = 10000, kWindowScale = 1;

bool on_cpu(DLDevice device) { return device.device_type == kDLCPU; }

}  // namespace

int32_t PagedKvCache::type() {
  static const int32_t index = register_type("opdyno.vm.PagedKVCache");
  return index;
}

PagedKvCache::PagedKvCache(KvConfig config, KvKernels kernels)
    : config_(std::move(config)),
      kernels_(std::move(kernels)),
      sequences_(config_.num_pages(), config_.page_size, config_.has_windows),
      forward_(config_.has_kind(KvLayerKind::kWindow) ? config_.layer_window : 0) {
  const KvConfig &c = config_;
  const auto make = [&](std::initializer_list<int64_t> dims, DLDataType dtype) {
    return make_lasting_tensor(std::span(dims.begin(), dims.size()), dtype, c.device);
  };
  const int64_t pages = c.num_pages(), rows = c.rows_at_once();
  for (const KvLayerKind kind : c.kinds)
    stores_.push_back(kind == KvLayerKind::kLatent ? make({pages, c.page_size, c.key_dim}, c.dtype)
                                                   : make({pages, 2, c.kv_heads, c.page_size, c.key_dim}, c.dtype));
  q_ = make({rows, c.query_heads, c.key_dim}, c.dtype);
  k_ = make({rows, c.kv_heads, c.key_dim}, c.dtype);
  v_ = make({rows, c.kv_heads, c.value_dim}, c.dtype);
  more_out_ = make({rows, c.query_heads, c.value_dim}, c.dtype);
  lse_ = make({rows, c.query_heads}, kFloat);
  more_lse_ = make({rows, c.query_heads}, kFloat);
  probe_page_size();
}

// Kernels may be compiled for one page size only. A row without a place is stored nowhere, but its call tells.
void PagedKvCache::probe_page_size() {
  if (!kernels_.append || config_.has_kind(KvLayerKind::kLatent)) return;
  const KvTable nowhere(1, -1);
  KvView pages = pages_of(0), k = view_rows(k_, config_.kv_heads, config_.key_dim, 1),
         v = view_rows(v_, config_.kv_heads, config_.value_dim, 1), places = table(nowhere);
  try {
    const View args[] = {pages, k, v, places};
    call(*kernels_.append, args);
  } catch (const Exception &failure) {
    fail(OPD_INVALID_ARGUMENT, "the program's kernels do not fit a cache with pages of ", config_.page_size,
         " rows and ", config_.kv_heads, " heads of ", config_.key_dim, ": ", failure.error()->message);
  }
  device_tables_.clear();
}

// ---- sequences

void PagedKvCache::clear() {
  sequences_.clear();
  forward_.clear();
}

void PagedKvCache::remove_sequence(int64_t id) {
  sequences_.remove(id);
  forward_.end();  // it may have been a part of the pass
}

void PagedKvCache::copy_page(const std::optional<KvPageCopy> &copy) {
  if (!copy) return;
  for (size_t layer = 0; layer < stores_.size(); ++layer) {
    KvView pages = pages_of(layer);
    const View args[] = {pages, opd_int(copy->from), opd_int(copy->to), opd_int(copy->rows)};
    run_kernel(kernels_.copy_page, "copies of pages", args);
  }
}

void PagedKvCache::fork_sequence(int64_t parent, int64_t child, int64_t position) {
  copy_page(sequences_.copy_for_fork(parent, child, position));
  sequences_.fork(parent, child, position);
}

void PagedKvCache::pop(int64_t id, int64_t count) {
  copy_page(sequences_.copy_for_pop(id, count));
  sequences_.pop(id, count);
}

void PagedKvCache::begin_forward(std::span<const int64_t> ids, std::span<const int64_t> counts,
                                 std::optional<std::span<const int64_t>> parents) {
  require(!forward_.is_running() || is_touched_,
          "begin_forward was called already, and its rows were not computed; call the program or end_forward first");
  require(ids.size() == counts.size(), "seq_ids and append_lengths must be of one length, but are of ", ids.size(),
          " and ", counts.size());
  require(!ids.empty(), "begin_forward needs at least one sequence");
  require(static_cast<int64_t>(ids.size()) <= config_.max_batch, "a pass may have ", config_.max_batch,
          " sequences, the cache's max_batch, but has ", ids.size());
  int64_t rows = 0;
  for (const int64_t count : counts)
    if (__builtin_add_overflow(rows, std::max<int64_t>(count, 0), &rows)) rows = INT64_MAX;
  require(rows <= config_.rows_at_once(), "a pass may add ", config_.rows_at_once(),
          " rows, the cache's prefill_chunk_size, but is to add ", rows);
  require(!parents || !config_.has_kind(KvLayerKind::kLatent),
          "token trees are offered for MHA only, but the cache has layers of MLA");
  forward_.begin(sequences_, ids, counts, parents);
  is_touched_ = false;
  device_tables_.clear();
}

void PagedKvCache::commit(std::span<const int64_t> ids, std::span<const int64_t> leaves) {
  require(ids.size() == leaves.size(), "seq_ids and leaf_indices must be of one length, but are of ", ids.size(),
          " and ", leaves.size());
  KvTable begins(1, 0), from, to;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < ids.size(); ++i) {
    const KvSequence &sequence = sequences_.get(ids[i]);
    require(std::find(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(i), ids[i]) ==
                ids.begin() + static_cast<ptrdiff_t>(i),
            "sequence ", ids[i], " is named twice");
    const auto nodes = static_cast<int64_t>(sequence.tree.size());
    require(nodes > 0, "sequence ", ids[i], " has no token tree");
    require(leaves[i] >= -1 && leaves[i] < nodes, "the leaf of sequence ", ids[i], " must be -1 or from 0 to ",
            nodes - 1, ", but is ", leaves[i]);
    const auto path = sequence.tree.path_to(static_cast<int32_t>(leaves[i]));
    const int64_t first = sequence.length - nodes;
    for (size_t k = 0; k < path.size(); ++k) {
      if (path[k] == static_cast<int32_t>(k)) continue;
      from.push_back(static_cast<int32_t>(sequences_.place_of(sequence, first + path[k])));
      to.push_back(static_cast<int32_t>(sequences_.place_of(sequence, first + static_cast<int64_t>(k))));
    }
    begins.push_back(static_cast<int32_t>(from.size()));
    kept.push_back(static_cast<int64_t>(path.size()));
  }
  if (!from.empty()) {
    from.insert(from.end(), to.begin(), to.end());
    KvView lengths = table(begins), moves = lines(from, 2);
    for (size_t layer = 0; layer < stores_.size(); ++layer) {
      KvView pages = pages_of(layer);
      const View args[] = {pages, lengths, moves, opd_int(static_cast<int64_t>(ids.size()))};
      run_kernel(kernels_.compact, "moves of rows", args);
    }
    device_tables_.clear();
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    KvSequence &sequence = sequences_.get(ids[i]);
    const auto gone = static_cast<int64_t>(sequence.tree.size()) - kept[i];
    sequence.tree.clear();
    sequences_.pop(ids[i], gone);
  }
}

// ---- views

size_t PagedKvCache::local(int64_t layer, bool is_latent) const {
  const int64_t index = layer - config_.first_layer;
  if (index < 0 || index >= config_.num_layers)
    fail(OPD_OUT_OF_RANGE, "layer must be from ", config_.first_layer, " to ",
         config_.first_layer + config_.num_layers - 1, ", but is ", layer);
  const bool is = config_.kinds[static_cast<size_t>(index)] == KvLayerKind::kLatent;
  require(is == is_latent, "layer ", layer, " has ", is ? "MLA" : "MHA", ", but the program asks for ",
          is_latent ? "MLA" : "MHA");
  return static_cast<size_t>(index);
}

bool PagedKvCache::is_latent(int64_t layer) const {
  const int64_t index = layer - config_.first_layer;
  return index >= 0 && index < config_.num_layers && config_.kinds[static_cast<size_t>(index)] == KvLayerKind::kLatent;
}

// Only pages that were ever in use: some kernels visit all that they are given.
KvView PagedKvCache::pages_of(size_t layer) {
  const DLTensor &store = stores_[layer]->dl;
  const int64_t pages = std::clamp<int64_t>(sequences_.num_touched_pages() + 1, 1, config_.num_pages());
  if (config_.kinds[layer] == KvLayerKind::kLatent)
    return {store.data, store.byte_offset, store.dtype, store.device, {pages, config_.page_size, config_.key_dim}};
  return {store.data,
          store.byte_offset,
          store.dtype,
          store.device,
          {pages, 2, config_.kv_heads, config_.page_size, config_.key_dim}};
}

KvView PagedKvCache::placed(const KvTable &values, size_t margin, std::initializer_list<int64_t> dims) {
  auto *const host = const_cast<int32_t *>(values.data());
  // The margin is a multiple of 64 bytes, so that kernels which know no offset find the table, too.
  if (on_cpu(config_.device)) return {host + margin, 0, kInt, kHostDevice, dims};
  Ref<Tensor> &copy = device_tables_[&values];
  if (!copy) {
    const int64_t all[] = {static_cast<int64_t>(values.size())};
    copy = make_lasting_tensor(all, kInt, config_.device);
    copy_tensor(*KvView(host, 0, kInt, kHostDevice, {all[0]}), copy->dl);
  }
  return {copy->dl.data, copy->dl.byte_offset + margin * sizeof(int32_t), kInt, config_.device, dims};
}

KvView PagedKvCache::view_rows(const Ref<Tensor> &buffer, int64_t heads, int64_t dim, int64_t rows) {
  return {buffer->dl.data, buffer->dl.byte_offset, config_.dtype, config_.device, {rows, heads, dim}};
}

KvView PagedKvCache::lse_rows(const Ref<Tensor> &buffer, int64_t rows) {
  return {buffer->dl.data, buffer->dl.byte_offset, kFloat, config_.device, {rows, config_.query_heads}};
}

// The rows of this pass of a tensor of the program, which may have more.
KvView PagedKvCache::checked(const DLTensor &tensor, const char *what, int64_t heads, int64_t dim) {
  const bool fits = tensor.ndim == 3 && tensor.shape[0] >= forward_.num_rows() &&
                    (heads < 0 || tensor.shape[1] == heads) && (dim < 0 || tensor.shape[2] == dim) &&
                    same(tensor.dtype, config_.dtype) && same(tensor.device, config_.device) && is_contiguous(tensor);
  require(fits, what, " must be a compact ", dtype_name(config_.dtype), " tensor of at least ", forward_.num_rows(),
          " rows", heads < 0 ? std::string() : concat(", ", heads, " heads"),
          dim < 0 ? std::string() : concat(", size ", dim), ", but is ", describe(tensor));
  return {tensor.data,
          tensor.byte_offset,
          tensor.dtype,
          tensor.device,
          {forward_.num_rows(), tensor.shape[1], tensor.shape[2]}};
}

KvView PagedKvCache::checked_lse(const DLTensor &tensor, const char *what) {
  const bool fits = tensor.ndim == 2 && tensor.shape[0] >= forward_.num_rows() &&
                    tensor.shape[1] == config_.query_heads && same(tensor.dtype, kFloat) &&
                    same(tensor.device, config_.device) && is_contiguous(tensor);
  require(fits, what, " must be a compact float32 tensor of at least ", forward_.num_rows(), " rows and ",
          config_.query_heads, " heads, but is ", describe(tensor));
  return {tensor.data, tensor.byte_offset, tensor.dtype, tensor.device, {forward_.num_rows(), config_.query_heads}};
}

void PagedKvCache::require_running(const char *what) const {
  require(forward_.is_running(), what, " needs the rows of a pass; call vm.builtin.kv_state_begin_forward first");
}

// ---- attention

void PagedKvCache::append(size_t layer, View k, View v) {
  KvView pages = pages_of(layer), places = table(forward_.places);
  const View args[] = {pages, k, v, places};
  run_kernel(kernels_.append, "new rows", args);
}

// Of the new rows among themselves.
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

// Returns whether nothing was computed yet.
bool PagedKvCache::attend_depths(size_t layer, double scale, KvView &q, KvView &out, KvView &lse, bool is_first) {
  for (const KvDepth &depth : forward_.depths()) {
    const KvPages &read = config_.kinds[layer] == KvLayerKind::kWindow ? depth.window : depth.all;
    if (read.pages.empty()) continue;
    if (is_first) {
      attend_depth(layer, scale, depth, q, out, lse);
      is_first = false;
      continue;
    }
    KvView more(more_out_->dl.data, more_out_->dl.byte_offset, config_.dtype, config_.device,
                {out.dim(0), out.dim(1), out.dim(2)});
    KvView more_lse = lse_rows(more_lse_, forward_.num_rows());
    attend_depth(layer, scale, depth, q, more, more_lse);
    const View args[] = {out, lse, more, more_lse};
    run_kernel(kernels_.merge, "merging", args);
  }
  return is_first;
}

void PagedKvCache::fill_unseen(KvView &out, KvView &lse) {
  constexpr float kNoWeight = -5e4F;  // what kernels give, too
  const std::vector<float> none(static_cast<size_t>(lse.dim(0) * lse.dim(1)), kNoWeight);
  const std::vector<char> zeros(bytes_of(*out));
  copy_tensor(*KvView(const_cast<float *>(none.data()), 0, kFloat, kHostDevice, {lse.dim(0), lse.dim(1)}), *lse);
  copy_tensor(
      *KvView(const_cast<char *>(zeros.data()), 0, config_.dtype, kHostDevice, {out.dim(0), out.dim(1), out.dim(2)}),
      *out);
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
  Rows split{view_rows(q_, c.query_heads, c.key_dim, rows), view_rows(k_, c.kv_heads, c.key_dim, rows),
             view_rows(v_, c.kv_heads, c.value_dim, rows)};
  KvView positions = table(forward_.query_positions), lse = lse_rows(lse_, rows);
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
  KvView result = checked(out, "the output", c.query_heads, c.value_dim), lse = lse_rows(lse_, forward_.num_rows());
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
  require(fits, "kv must be a compact ", dtype_name(config_.dtype), " tensor of at least ", forward_.num_rows(),
          " rows of size ", config_.key_dim, ", but is ", describe(rows));
  is_touched_ = true;
  KvView given(rows.data, rows.byte_offset, rows.dtype, rows.device, {forward_.num_rows(), config_.key_dim});
  KvView pages = pages_of(index), places = table(forward_.places);
  const View args[] = {pages, given, places};
  run_kernel(kernels_.append_mla, "new rows of MLA", args);
}

void PagedKvCache::merge(const View &out, const View &lse, const View &more, const View &more_lse) {
  const View args[] = {out, lse, more, more_lse};
  run_kernel(kernels_.merge_mla ? kernels_.merge_mla : kernels_.merge, "merging", args);
}

Ref<Tensor> PagedKvCache::query_positions() {
  require_running("get_query_positions");
  const int64_t dims[] = {forward_.num_rows()};
  auto positions = make_lasting_tensor(dims, kInt, config_.device);
  KvView host(forward_.query_positions.data(), 0, kInt, kHostDevice, {dims[0]});
  copy_tensor(*host, positions->dl);
  return positions;
}

void PagedKvCache::debug_get(int64_t id, int64_t begin, int64_t end, const DLTensor &keys, const DLTensor *values) {
  const KvSequence &sequence = sequences_.get(id);
  if (begin < 0 || end < begin || end > sequence.length)
    fail(OPD_OUT_OF_RANGE, "the rows must be from 0 to the ", sequence.length, " of sequence ", id, ", but are from ",
         begin, " to ", end);
  if (begin == end) return;
  KvTable places;
  for (int64_t row = begin; row < end; ++row)
    places.push_back(static_cast<int32_t>(sequences_.place_of(sequence, row)));
  KvView positions = table(places);
  for (size_t layer = 0; layer < stores_.size(); ++layer) {
    KvView pages = pages_of(layer);
    const View key = opd_dltensor(const_cast<DLTensor *>(&keys)), number = opd_int(static_cast<int64_t>(layer));
    if (!values) {
      const View args[] = {pages, positions, key, number};
      run_kernel(kernels_.debug_get, "reading rows", args);
    } else {
      const View args[] = {pages, positions, key, opd_dltensor(const_cast<DLTensor *>(values)), number};
      run_kernel(kernels_.debug_get, "reading rows", args);
    }
  }
  device_tables_.clear();
}

}  // namespace opd
