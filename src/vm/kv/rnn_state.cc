#include "vm/kv/rnn_state.h"

#include <algorithm>

#include "device/device.h"
#include "vm/observe.h"
#include "vm/pool.h"

namespace opd {
namespace {

std::vector<int64_t> dims_with(std::initializer_list<int64_t> first, const DLTensor &rest) {
  std::vector<int64_t> dims(first);
  dims.insert(dims.end(), rest.shape, rest.shape + rest.ndim);
  return dims;
}

}  // namespace

RnnState::RnnState(int64_t num_layers, int64_t max_sequences, int64_t max_history, std::vector<Kind> kinds)
    : num_layers_(num_layers),
      max_sequences_(max_sequences),
      max_history_(max_history),
      kinds_(std::move(kinds)),
      device_(kinds_.front().initial->dl.device) {
  for (int64_t layer = 0; layer < num_layers_; ++layer)
    for (const Kind &kind : kinds_) {
      const DLTensor &initial = kind.initial->dl;
      storages_.push_back(make_lasting_tensor(dims_with({max_sequences_, max_history_}, initial), initial.dtype,
                                              device_, MemoryUse::kCache));
    }
  clear();
}

void RnnState::clear() {
  sequences_.clear();
  ids_.clear();
  free_slots_.clear();
  num_touched_slots_ = 0;
}

// ---- sequences. A change of slots ends the pass, whose tables name them.

RnnState::Sequence &RnnState::sequence(int64_t id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) fail(OPD_NOT_FOUND, "the state has no sequence ", id);
  return found->second;
}

Ref<Tensor> RnnState::states(const Ref<Tensor> &storage, int64_t slot, int64_t history, int64_t count) const {
  const DLTensor &all = storage->dl;
  std::vector<int64_t> dims(all.shape + 1, all.shape + all.ndim);
  dims[0] = count;
  auto view = Tensor::make(dims, all.dtype, all.device, all.data, storage);
  view->dl.byte_offset =
      bytes_of(view->dl) / static_cast<uint64_t>(count) * static_cast<uint64_t>(slot * max_history_ + history);
  return view;
}

int64_t RnnState::next_slot(int64_t id) const {
  require(!sequences_.contains(id), "the state has a sequence ", id, " already");
  if (!free_slots_.empty()) return free_slots_.back();
  if (num_touched_slots_ == max_sequences_)
    fail(OPD_OUT_OF_RANGE, "the state is full: it holds ", max_sequences_, " sequences, and sequence ", id,
         " would be one more");
  return num_touched_slots_;
}

void RnnState::take_next_slot() {
  if (free_slots_.empty()) ++num_touched_slots_;
  else free_slots_.pop_back();
}

void RnnState::add_sequence(int64_t id) {
  const int64_t slot = next_slot(id);
  for (int64_t layer = 0; layer < num_layers_; ++layer)
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      const auto first = states(storage(layer, static_cast<int64_t>(kind)), slot, 0, 1);
      copy_tensor(reshape(kinds_[kind].initial, dims_of(first->dl))->dl, first->dl);
    }
  sequences_.emplace(id, Sequence{slot});
  take_next_slot();
}

void RnnState::remove_sequence(int64_t id) {
  free_slots_.push_back(sequence(id).slot);
  sequences_.erase(id);
  ids_.clear();
}

void RnnState::copy_slot(int64_t from, int64_t to) {
  for (const Ref<Tensor> &storage : storages_)
    copy_tensor(states(storage, from, 0, max_history_)->dl, states(storage, to, 0, max_history_)->dl);
}

void RnnState::fork_sequence(int64_t parent, int64_t child, int64_t) {
  Sequence copy = sequence(parent);
  const int64_t slot = next_slot(child);
  copy_slot(copy.slot, slot);
  copy.slot = slot;
  sequences_.emplace(child, copy);
  take_next_slot();
}

void RnnState::pop(int64_t id, int64_t count) {
  Sequence &at = sequence(id);
  if (count < 0 || count > at.available)
    fail(OPD_OUT_OF_RANGE, "n must be from 0 to the ", at.available, " states before the current one that sequence ",
         id, " keeps, but is ", count);
  at.available -= count;
  at.history = (at.history - count + max_history_) % max_history_;
  at.num_tokens -= count;  // a state that can be restored came from a pass of one token
  ids_.clear();
}

// ---- passes

void RnnState::begin_forward(std::span<const int64_t> ids, std::span<const int64_t> counts,
                             std::optional<std::span<const int64_t>> parents) {
  size_t token = 0;
  const int64_t most = INT64_MAX / max_sequences_;  // the sum of the counts must fit the type, too
  for (size_t i = 0; i < ids.size(); ++i) {
    if (const int64_t before = sequence(ids[i]).num_tokens; counts[i] > most - before)
      fail(OPD_OUT_OF_RANGE, "a sequence may have ", most, " tokens, but sequence ", ids[i], " has ", before,
           " and is to get ", counts[i]);
    for (int64_t k = 0; parents && k < counts[i]; ++k, ++token)
      require(token < parents->size() && (*parents)[token] == k - 1,
              "a recurrent state takes tokens that follow each other, but those of sequence ", ids[i], " form a tree");
  }
  require(!parents || token == parents->size(), "token_tree_parent must name the parents of all ", token,
          " new tokens, but has ", parents ? parents->size() : 0);
  ids_.assign(ids.begin(), ids.end());
  counts_.assign(counts.begin(), counts.end());
  slots_.clear();
  histories_.clear();
  for (const int64_t id : ids_) {
    slots_.push_back(static_cast<int32_t>(sequence(id).slot));
    histories_.push_back(static_cast<int32_t>(sequence(id).history));
  }
  slots_copy_ = histories_copy_ = nullptr;
}

// The kernels wrote the new states behind the current ones. A pass of several tokens leaves one state, so no earlier
// state can be restored.
void RnnState::end_forward() {
  for (size_t i = 0; i < ids_.size(); ++i) {
    Sequence &at = sequence(ids_[i]);
    at.history = (at.history + 1) % max_history_;
    at.available = counts_[i] > 1 ? 0 : std::min(at.available + 1, max_history_ - 1);
    at.num_tokens += counts_[i];
  }
  ids_.clear();
}

std::vector<KvSequenceLength> RnnState::lengths() const {
  std::vector<KvSequenceLength> lengths;
  for (const auto &[id, sequence] : sequences_) lengths.push_back({id, sequence.num_tokens});
  return lengths;
}

KvUsage RnnState::usage() const {
  KvUsage usage{.num_sequences = static_cast<int64_t>(sequences_.size()),
                .num_tokens = 0,
                .max_batch = max_sequences_,
                .page_size = 0,
                .num_pages = max_sequences_,
                .num_free_pages = max_sequences_ - static_cast<int64_t>(sequences_.size()),
                .bytes = 0};
  for (const auto &[id, sequence] : sequences_) usage.num_tokens += sequence.num_tokens;
  for (const auto &storage : storages_) usage.bytes += bytes_of(storage->dl);
  return usage;
}

size_t RnnState::checked(int64_t layer, int64_t kind) const {
  if (layer < 0 || layer >= num_layers_)
    fail(OPD_OUT_OF_RANGE, "layer must be from 0 to ", num_layers_ - 1, ", but is ", layer);
  if (kind < 0 || kind >= static_cast<int64_t>(kinds_.size()))
    fail(OPD_OUT_OF_RANGE, "state_id must be from 0 to ", kinds_.size() - 1, ", but is ", kind);
  return static_cast<size_t>(kind);
}

KvView RnnState::on_device(const KvTable &table, Ref<Tensor> &copy) const {
  const auto count = static_cast<int64_t>(table.size());
  KvView host(const_cast<int32_t *>(table.data()), 0, kKvTableType, kHost, {count});
  if (device_.device_type == kDLCPU) return host;
  if (!copy) {
    copy = make_lasting_tensor(std::span(&count, 1), kKvTableType, device_, MemoryUse::kWorkspace);
    copy_tensor(*host, copy->dl);
  }
  return {copy->dl.data, copy->dl.byte_offset, kKvTableType, device_, {count}};
}

void RnnState::run(const Ref<Function> &kernel, int64_t layer, int64_t kind, const View &tensor) {
  require(!ids_.empty(), "a state is read and written in a pass; call vm.builtin.kv_state_begin_forward first");
  KvView slots = on_device(slots_, slots_copy_), histories = on_device(histories_, histories_copy_);
  const View args[] = {view_of(storage(layer, kind).get()), slots, histories, tensor};
  call_inner_kernel(*kernel, args);
}

Ref<Tensor> RnnState::debug_get(int64_t layer, int64_t kind, int64_t id) {
  const size_t index = checked(layer, kind);
  const Sequence &at = sequence(id);
  const auto current = states(storage(layer, kind), at.slot, at.history, 1);
  auto copy = make_lasting_tensor(dims_of(current->dl), current->dl.dtype, device_, MemoryUse::kTensor);
  copy_tensor(current->dl, copy->dl);
  return reshape(std::move(copy), dims_of(kinds_[index].initial->dl));
}

}  // namespace opd
