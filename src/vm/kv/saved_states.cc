// KV states as bytes, for recordings: the sequences, the arguments of the running pass, and the used memory.
#include <algorithm>
#include <map>

#include "device/device.h"
#include "vm/kv/paged_kv_cache.h"
#include "vm/kv/rnn_state.h"

namespace opd {
namespace {

// Splits a store into equal parts: one page, or one sequence's history. A part has `lines` lines of `rows` rows each.
class Parts {
 public:
  Parts(const DLTensor &store, int64_t count, int64_t rows, int64_t lines = 1)
      : store_(store), size_(bytes_of(store) / static_cast<uint64_t>(count)), rows_(rows), lines_(lines) {
    if (store.device.device_type == kDLCPU) return;
    copy_ = copied_to(kHost, store);
  }

  // Unused rows are zeroed, because their memory may hold any data of the process.
  template <class IsUsed>
  void save(ByteWriter &out, int64_t number, const IsUsed &is_used) const {
    const uint64_t row_size = size_ / static_cast<uint64_t>(rows_ * lines_);
    const std::string zeros(row_size, '\0');
    const char *from = part(number);
    for (int64_t line = 0; line < lines_; ++line)
      for (int64_t row = 0; row < rows_; ++row, from += row_size)
        out.write_bytes(is_used(row) ? from : zeros.data(), row_size);
  }
  void restore(ByteReader &from, std::span<const int64_t> numbers) const {
    for (const int64_t number : numbers)
      if (const Bytes bytes = from.take(size_, "contents"); size_) std::memcpy(part(number), bytes.data(), size_);
    if (copy_) copy_tensor(copy_->dl, store_);
  }

 private:
  char *part(int64_t number) const {
    return data_of(copy_ ? copy_->dl : store_) + size_ * static_cast<uint64_t>(number);
  }

  const DLTensor &store_;
  const uint64_t size_;
  const int64_t rows_, lines_;
  Ref<Tensor> copy_;
};

void require_end(const ByteReader &from) {
  if (!from.at_end()) from.bad("end", concat("is followed by ", from.remaining(), " bytes"));
}

Parts parts_of(const DLTensor &pages, const KvConfig &config) {
  const int64_t lines = pages.ndim == 5 ? 2 * config.kv_heads : 1;  // MLA layers have one line
  return {pages, config.num_pages(), config.page_size, lines};
}

// Saves the used pages of a layer. Only used places have their rows.
void save_pages(ByteWriter &out, const DLTensor &store, const KvConfig &config, const KvSequences &sequences,
                const std::vector<bool> &is_used) {
  const Parts pages = parts_of(store, config);
  for (const int64_t page : sequences.pages_in_use())
    pages.save(out, page, [&](int64_t row) { return is_used[static_cast<size_t>(page * config.page_size + row)]; });
}

using Counterpart = std::function<Ref<Function>(const Function &)>;

Value with_counterparts(const View &value, const Counterpart &counterpart) {
  if (const auto *const function = try_as<Function>(value)) return counterpart(*function);
  const auto *const array = try_as<Array>(value);
  if (!array) return Value(value);
  std::vector<Value> items;
  for (const View &item : array->views()) items.push_back(with_counterparts(item, counterpart));
  return Array::make(views_of(items));
}

enum Flag : uint8_t { kRuns = 1, kIsTouched = 2, kHasParents = 4 };

}  // namespace

Value make_saved_state(const std::string &maker, Args args, ByteReader &saved) {
  const Ref<Function> function = maker == kPagedCacheMaker || maker == kRnnStateMaker ? find_function(maker) : nullptr;
  if (!function) fail(OPD_BAD_FORMAT, maker, " is not a builtin that makes a KV state");
  Value made = call(*function, args);
  as_kv_state(made.view(), "the state").restore(saved);
  return made;
}

Value copy_of(const KvState &state, const Counterpart &counterpart) {
  ByteWriter out;
  state.save(out);
  std::vector<Value> args;
  for (const Value &arg : state.maker_arguments()) args.push_back(with_counterparts(arg.view(), counterpart));
  const std::string saved = out.take();
  ByteReader from(as_bytes(saved), "the state");
  return make_saved_state(state.maker(), views_of(args), from);
}

std::vector<Value> PagedKvCache::maker_arguments() const {
  std::vector<Value> args = config_.arguments();
  for (Value &kernel : kernels_.arguments()) args.push_back(std::move(kernel));
  return args;
}

void PagedKvCache::save(ByteWriter &out) const {
  if (!imports_.empty()) fail(OPD_UNSUPPORTED, "sequence ", imports_.begin()->first, " is being imported");
  KvSequences before = sequences_;
  KvForward::Pass pass;
  if (forward_.is_running()) pass = forward_.take_back(before);
  out.write(static_cast<uint8_t>((forward_.is_running() ? kRuns : 0) | (is_touched_ ? kIsTouched : 0) |
                                 (pass.parents ? kHasParents : 0)));
  write_numbers(out, pass.ids);
  write_numbers(out, pass.counts);
  if (pass.parents) write_numbers(out, *pass.parents);
  before.save(out);
  const std::vector<bool> is_used = (forward_.is_running() && !is_touched_ ? before : sequences_).places_in_use();
  for (const auto &store : stores_) save_pages(out, store->dl, config_, sequences_, is_used);
}

std::string PagedKvCache::rows_of(int64_t layer, int64_t) const {
  const Ref<Tensor> &store = stores_.at(static_cast<size_t>(layer - config_.first_layer));
  ByteWriter out;
  save_pages(out, store->dl, config_, sequences_, sequences_.places_in_use());
  return out.take();
}

void PagedKvCache::restore(ByteReader &from) {
  const auto flags = from.read<uint8_t>("flags");
  if (flags > 7) from.bad("flags", "of a cache must be below 8");
  const std::vector<int64_t> ids = read_numbers<int64_t>(from, "sequences of the pass"),
                             counts = read_numbers<int64_t>(from, "rows of the pass");
  std::optional<std::vector<int64_t>> parents;
  if (flags & kHasParents) parents = read_numbers<int64_t>(from, "token trees of the pass");
  sequences_.restore(from);
  if (flags & kRuns) {
    require_batch(ids, counts, "the rows of the pass", 1);
    begin_forward(ids, counts, parents ? std::optional<std::span<const int64_t>>(*parents) : std::nullopt);
  }
  is_touched_ = flags & kIsTouched;
  const std::vector<int64_t> pages = sequences_.pages_in_use();
  for (const auto &store : stores_) parts_of(store->dl, config_).restore(from, pages);
  require_end(from);
}

std::vector<Value> RnnState::maker_arguments() const {
  std::vector<View> gets, sets, initials;
  for (const Kind &kind : kinds_) {
    gets.push_back(view_of(kind.get.get()));
    sets.push_back(view_of(kind.set.get()));
    initials.push_back(view_of(kind.initial.get()));
  }
  return {num_layers_, max_sequences_, max_history_, Array::make(gets), Array::make(sets), Array::make(initials)};
}

void RnnState::save(ByteWriter &out) const {
  write_numbers(out, ids_);
  write_numbers(out, ids_.empty() ? ids_ : counts_);
  write_numbers(out, free_slots_);
  out.write(static_cast<uint64_t>(sequences_.size()));
  // Sorted, so that equal states give equal bytes.
  const std::map<int64_t, Sequence> sequences(sequences_.begin(), sequences_.end());
  for (const auto &[id, at] : sequences)
    for (const int64_t number : {id, at.slot, at.history, at.available, at.num_tokens}) out.write(number);
  for (const auto &storage : storages_) {
    const Parts slots(storage->dl, max_sequences_, max_history_);
    for (const auto &[id, at] : sequences)
      slots.save(out, at.slot, [&sequence = at, this](int64_t history) {
        return (sequence.history - history + max_history_) % max_history_ <= sequence.available;
      });
  }
}

std::string RnnState::rows_of(int64_t layer, int64_t kind) const {
  const auto index = static_cast<size_t>(layer * static_cast<int64_t>(kinds_.size()) + kind);
  const Parts slots(storages_.at(index)->dl, max_sequences_, max_history_);
  ByteWriter out;
  for (const auto &[id, at] : std::map<int64_t, Sequence>(sequences_.begin(), sequences_.end())) {
    const bool is_in_pass = std::ranges::find(ids_, id) != ids_.end();
    slots.save(out, at.slot, [&, &sequence = at](int64_t history) {
      const int64_t before = (sequence.history - history + max_history_) % max_history_;
      return before <= sequence.available || (is_in_pass && before == max_history_ - 1);
    });
  }
  return out.take();
}

void RnnState::restore(ByteReader &from) {
  const std::vector<int64_t> ids = read_numbers<int64_t>(from, "sequences of the pass"),
                             counts = read_numbers<int64_t>(from, "tokens of the pass");
  free_slots_ = read_numbers<int64_t>(from, "free slots");
  const uint64_t count = from.read_count(5 * sizeof(int64_t), "number of sequences");
  num_touched_slots_ = static_cast<int64_t>(free_slots_.size() + count);
  if (num_touched_slots_ > max_sequences_)
    from.bad("number of slots", concat("must be at most ", max_sequences_, ", but is ", num_touched_slots_));
  std::vector<bool> is_known(static_cast<size_t>(num_touched_slots_));
  for (const int64_t slot : free_slots_) note_number(from, "slot", slot, is_known);
  std::vector<int64_t> slots;
  for (uint64_t i = 0; i < count; ++i) {
    const auto id = from.read<int64_t>("sequence");
    Sequence at{from.read<int64_t>("slot")};
    for (int64_t *const number : {&at.history, &at.available, &at.num_tokens}) *number = from.read<int64_t>("state");
    note_number(from, "slot", at.slot, is_known);
    if (at.history < 0 || at.history >= max_history_ || at.available < 0 || at.available >= max_history_ ||
        at.num_tokens < 0 || at.num_tokens > INT64_MAX / max_sequences_ || !sequences_.emplace(id, at).second)
      from.bad("sequence", concat(id, " has states that do not exist"));
    slots.push_back(at.slot);
  }
  for (const auto &storage : storages_) Parts(storage->dl, max_sequences_, max_history_).restore(from, slots);
  if (!ids.empty()) {
    require_batch(ids, counts, "the tokens of the pass", 1);
    begin_forward(ids, counts, std::nullopt);
  }
  require_end(from);
}

}  // namespace opd
