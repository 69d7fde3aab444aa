// Checkpoints of a paged cache: a sequence is exported and imported as one tensor of pages per layer.
#include "device/device.h"
#include "vm/kv/kv_checkpoint.h"
#include "vm/kv/paged_kv_cache.h"

namespace opd {

std::string PagedKvCache::checkpoint_metadata(int64_t id) const {
  const KvSequence &sequence = sequences_.get(id);
  require(sequence.tree.is_empty(), "sequence ", id,
          " has a token tree; commit one of its paths before a checkpoint is made");
  return opd::checkpoint_metadata(config_, id, sequence.length);
}

void PagedKvCache::check_group(const DLTensor &tensor, int64_t group, int64_t pages) const {
  if (group < 0 || group >= config_.num_layers)
    fail(OPD_OUT_OF_RANGE, "group_id must be from 0 to ", config_.num_layers - 1, ", but is ", group);
  const int64_t dims[] = {1, pages, 2, config_.kv_heads, config_.page_size, config_.key_dim};
  std::string wanted;
  append_dims(wanted, dims);
  require(std::ranges::equal(dims_of(tensor), dims) && same(tensor.dtype, config_.dtype) && is_contiguous(tensor),
          "the tensor of the pages must be compact, of ", dtype_name(config_.dtype), wanted, ", but is ",
          describe(tensor));
}

// Returns page `number` of a tensor of pages.
KvView PagedKvCache::page_of(const DLTensor &pages, int64_t number) const {
  const KvView one(nullptr, 0, config_.dtype, pages.device, {2, config_.kv_heads, config_.page_size, config_.key_dim});
  return {pages.data,
          pages.byte_offset + bytes_of(*one) * static_cast<uint64_t>(number),
          config_.dtype,
          pages.device,
          {2, config_.kv_heads, config_.page_size, config_.key_dim}};
}

// Unused rows of the last page are zeroed, so that equal sequences give equal checkpoints.
void PagedKvCache::export_group(int64_t id, int64_t group, const DLTensor &tensor) {
  require_checkpoints(config_);
  const KvSequence &sequence = sequences_.get(id);
  const int64_t size = config_.page_size;
  check_group(tensor, group, pages_for(sequence.length, size));
  for (int64_t first = 0, number = 0; first < sequence.length; first += size, ++number) {
    KvView from = page_of(stores_[static_cast<size_t>(group)]->dl, sequences_.place_of(sequence, first) / size),
           to = page_of(tensor, number);
    if (const int64_t rows = sequence.length - first; rows < size) {
      const std::vector<char> zeros(bytes_of(*to));
      copy_tensor(*KvView(const_cast<char *>(zeros.data()), 0, config_.dtype, kHost,
                          {2, config_.kv_heads, size, config_.key_dim}),
                  *to);
      from.cut(2, rows);
      to.cut(2, rows);
    }
    copy_tensor(*from, *to);
  }
}

void PagedKvCache::prepare_import(int64_t id, std::string_view metadata) {
  const int64_t length = read_checkpoint(config_, id, metadata);
  sequences_.replace(id, length);
  imports_[id].assign(static_cast<size_t>(length > 0 ? config_.num_layers : 0), false);
  forward_.end();
}

void PagedKvCache::import_group(int64_t id, int64_t group, const DLTensor &tensor) {
  const auto found = imports_.find(id);
  if (found == imports_.end()) fail(OPD_FAILED_PRECONDITION, "no import of sequence ", id, " was prepared");
  const KvSequence &sequence = sequences_.importing(id);
  const int64_t size = config_.page_size, pages = pages_for(sequence.length, size);
  check_group(tensor, group, pages);
  require(pages > 0 && !found->second[static_cast<size_t>(group)], "group ", group, " of sequence ", id,
          " was imported already");
  for (int64_t number = 0; number < pages; ++number)
    copy_tensor(*page_of(tensor, number),
                *page_of(stores_[static_cast<size_t>(group)]->dl, sequences_.place_of(sequence, number * size) / size));
  found->second[static_cast<size_t>(group)] = true;
}

void PagedKvCache::finish_import(int64_t id) {
  const auto found = imports_.find(id);
  if (found == imports_.end()) fail(OPD_FAILED_PRECONDITION, "no import of sequence ", id, " was prepared");
  for (size_t group = 0; group < found->second.size(); ++group)
    if (!found->second[group])
      fail(OPD_FAILED_PRECONDITION, "group ", group, " of sequence ", id, " is yet to be imported");
  imports_.erase(found);
  sequences_.finish_import(id);
}

}  // namespace opd
