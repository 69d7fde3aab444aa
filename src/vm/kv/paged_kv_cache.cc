#include "vm/kv/paged_kv_cache.h"

#include <algorithm>

#include "device/device.h"
#include "vm/pool.h"

namespace opd {
PagedKvCache::PagedKvCache(KvConfig config, KvKernels kernels)
    : config_(std::move(config)),
      kernels_(std::move(kernels)),
      sequences_(config_.num_pages(), config_.page_size, config_.has_windows),
      forward_(config_.has_kind(KvLayerKind::kWindow) ? config_.layer_window : 0) {
  const KvConfig &c = config_;
  const auto make = [&](std::initializer_list<int64_t> dims, DLDataType dtype, MemoryUse use) {
    return make_lasting_tensor(std::span(dims.begin(), dims.size()), dtype, c.device, use);
  };
  const auto pages = [&](KvLayerKind kind) {
    if (kind == KvLayerKind::kLatent) return make({c.num_pages(), c.page_size, c.key_dim}, c.dtype, MemoryUse::kCache);
    return make({c.num_pages(), 2, c.kv_heads, c.page_size, c.key_dim}, c.dtype, MemoryUse::kCache);
  };
  for (const KvLayerKind kind : c.kinds) stores_.push_back(pages(kind));
  const auto rows = [&](int64_t heads, int64_t dim) {
    return make({c.rows_at_once(), heads, dim}, c.dtype, MemoryUse::kWorkspace);
  };
  const auto lse = [&] { return make({c.rows_at_once(), c.query_heads}, kKvLseType, MemoryUse::kWorkspace); };
  q_ = rows(c.query_heads, c.key_dim);
  k_ = rows(c.kv_heads, c.key_dim);
  v_ = rows(c.kv_heads, c.value_dim);
  more_out_ = rows(c.query_heads, c.value_dim);
  lse_ = lse();
  more_lse_ = lse();
  probe_page_size();
}

// Finds out whether the kernels support the page size, because they may be compiled for another one. The call stores a
// row that has no place, so nothing is written.
void PagedKvCache::probe_page_size() {
  if (!kernels_.append || config_.has_kind(KvLayerKind::kLatent)) return;
  const KvTable nowhere(1, -1);
  KvView pages = pages_of(0), k(k_->dl, {1, config_.kv_heads, config_.key_dim}),
         v(v_->dl, {1, config_.kv_heads, config_.value_dim}), places = table(nowhere);
  try {
    const View args[] = {pages, k, v, places};
    call(*kernels_.append, args);
  } catch (const Exception &failure) {
    fail(OPD_INVALID_ARGUMENT, "the program's kernels do not fit a cache with pages of ", config_.page_size,
         " rows and ", config_.kv_heads, " heads of ", config_.key_dim, ": ", failure.error()->message);
  }
  device_tables_.clear();
}

// ---- sequences. Moving rows ends the pass, because its tables refer to their old places.

void PagedKvCache::clear() {
  sequences_.clear();
  imports_.clear();
  forward_.clear();
}

void PagedKvCache::remove_sequence(int64_t id) {
  sequences_.remove(id);
  imports_.erase(id);
  forward_.end();
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
  forward_.end();
}

void PagedKvCache::pop(int64_t id, int64_t count) {
  copy_page(sequences_.copy_for_pop(id, count));
  sequences_.pop(id, count);
  forward_.end();
}

void PagedKvCache::begin_forward(std::span<const int64_t> ids, std::span<const int64_t> counts,
                                 std::optional<std::span<const int64_t>> parents) {
  if (forward_.is_running() && !is_touched_)
    fail(OPD_FAILED_PRECONDITION,
         "begin_forward was called already, and its rows were not computed; call the program or end_forward first");
  require(static_cast<int64_t>(ids.size()) <= config_.max_batch, "a pass may have ", config_.max_batch,
          " sequences, the cache's max_batch, but has ", ids.size());
  int64_t rows = 0;
  for (const int64_t count : counts)
    if (__builtin_add_overflow(rows, count, &rows)) rows = INT64_MAX;
  require(rows <= config_.rows_at_once(), "a pass may add ", config_.rows_at_once(),
          " rows, the cache's prefill_chunk_size, but is to add ", rows);
  require(!parents || !config_.has_kind(KvLayerKind::kLatent),
          "token trees are offered for MHA only, but the cache has layers of MLA");
  forward_.begin(sequences_, ids, counts, parents);
  is_touched_ = false;
  device_tables_.clear();
}

KvUsage PagedKvCache::usage() const {
  uint64_t bytes = 0;
  for (const auto &store : stores_) bytes += bytes_of(store->dl);
  for (const auto &rows : {q_, k_, v_, more_out_, lse_, more_lse_}) bytes += bytes_of(rows->dl);
  const KvSequences &s = sequences_;
  return {s.size(), s.num_rows(), config_.max_batch, config_.page_size, s.num_pages(), s.num_free_pages(), bytes};
}

void PagedKvCache::commit(std::span<const int64_t> ids, std::span<const int64_t> leaves) {
  KvTable begins(1, 0), from, to;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < ids.size(); ++i) {
    const KvSequence &sequence = sequences_.get(ids[i]);
    const auto nodes = static_cast<int64_t>(sequence.tree.size());
    require(nodes > 0, "sequence ", ids[i], " has no token tree");
    require(leaves[i] < nodes, "the leaf of sequence ", ids[i], " must be -1 or from 0 to ", nodes - 1, ", but is ",
            leaves[i]);
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
  forward_.end();
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

// Only pages that were ever in use, because some kernels visit all pages.
KvView PagedKvCache::pages_of(size_t layer) {
  const DLTensor &store = stores_[layer]->dl;
  const int64_t pages = std::clamp<int64_t>(sequences_.num_touched_pages() + 1, 1, config_.num_pages());
  if (config_.kinds[layer] == KvLayerKind::kLatent) return {store, {pages, config_.page_size, config_.key_dim}};
  return {store, {pages, 2, config_.kv_heads, config_.page_size, config_.key_dim}};
}

KvView PagedKvCache::placed(const KvTable &values, size_t margin, std::initializer_list<int64_t> dims) {
  auto *const host = const_cast<int32_t *>(values.data());
  // The margin is a multiple of 64 bytes, so that kernels that ignore offsets find the table, too.
  if (config_.device.device_type == kDLCPU) return {host + margin, 0, kKvTableType, kHost, dims};
  Ref<Tensor> &copy = device_tables_[&values];
  if (!copy) {
    const int64_t all[] = {static_cast<int64_t>(values.size())};
    copy = make_lasting_tensor(all, kKvTableType, config_.device, MemoryUse::kWorkspace);
    copy_tensor(*KvView(host, 0, kKvTableType, kHost, {all[0]}), copy->dl);
  }
  return {copy->dl.data, copy->dl.byte_offset + margin * sizeof(int32_t), kKvTableType, config_.device, dims};
}

// Returns the rows of this pass. The program's tensor may have more rows.
KvView PagedKvCache::checked(const DLTensor &tensor, const char *what, int64_t heads, int64_t dim) {
  const bool fits = tensor.ndim == 3 && tensor.shape[0] >= forward_.num_rows() &&
                    (heads < 0 || tensor.shape[1] == heads) && (dim < 0 || tensor.shape[2] == dim) &&
                    same(tensor.dtype, config_.dtype) && same(tensor.device, config_.device) && is_contiguous(tensor);
  if (!fits)  // not require(): it would make the parts of the message in each pass
    fail(OPD_INVALID_ARGUMENT, what, " must be a compact ", dtype_name(config_.dtype), " tensor of at least ",
         forward_.num_rows(), " rows", heads < 0 ? std::string() : concat(", ", heads, " heads"),
         dim < 0 ? std::string() : concat(", size ", dim), ", but is ", describe(tensor));
  return {tensor, {forward_.num_rows(), tensor.shape[1], tensor.shape[2]}};
}

KvView PagedKvCache::checked_lse(const DLTensor &tensor, const char *what) {
  const bool fits = tensor.ndim == 2 && tensor.shape[0] >= forward_.num_rows() &&
                    tensor.shape[1] == config_.query_heads && same(tensor.dtype, kKvLseType) &&
                    same(tensor.device, config_.device) && is_contiguous(tensor);
  require(fits, what, " must be a compact float32 tensor of at least ", forward_.num_rows(), " rows and ",
          config_.query_heads, " heads, but is ", describe(tensor));
  return {tensor, {forward_.num_rows(), config_.query_heads}};
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
    std::vector<View> args{pages, positions, key, number};
    if (values) args.insert(args.end() - 1, opd_dltensor(const_cast<DLTensor *>(values)));
    run_kernel(kernels_.debug_get, "reading rows", args);
  }
  device_tables_.clear();
}

}  // namespace opd
