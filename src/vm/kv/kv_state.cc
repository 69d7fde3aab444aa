#include "vm/kv/kv_state.h"

#include <algorithm>

#include "vm/kv/paged_kv_cache.h"
#include "vm/kv/rnn_state.h"

namespace opd {

KvUse::KvUse(KvState &state) : state_(state) {
  if (state.is_in_use_.exchange(true, std::memory_order_acquire))
    fail(OPD_FAILED_PRECONDITION, "another call uses the ", type_key(state.type_index),
         " now; use one state from one thread at a time");
}

void require_batch(std::span<const int64_t> ids, std::span<const int64_t> numbers, const char *what, int64_t least) {
  require(ids.size() == numbers.size(), "seq_ids and ", what, " must be of one length, but are of ", ids.size(),
          " and ", numbers.size());
  require(!ids.empty(), "seq_ids must name at least one sequence");
  constexpr size_t kFew = 32;  // each is compared with those before it, so no memory is needed
  std::vector<int64_t> sorted;
  if (ids.size() > kFew) {
    sorted.assign(ids.begin(), ids.end());
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    require(twice == sorted.end(), "sequence ", twice == sorted.end() ? 0 : *twice, " is named twice");
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto before = ids.first(sorted.empty() ? i : 0);
    require(std::ranges::find(before, ids[i]) == before.end(), "sequence ", ids[i], " is named twice");
    require(numbers[i] >= least, what, " must be at least ", least, ", but is ", numbers[i], " for sequence ", ids[i]);
  }
}

KvState *try_kv_state(const View &v) {
  if (v.type == PagedKvCache::type()) return static_cast<PagedKvCache *>(object_of(v));
  if (v.type == RnnState::type()) return static_cast<RnnState *>(object_of(v));
  return nullptr;
}

KvState &as_kv_state(const View &v, std::string_view what) {
  if (KvState *const state = try_kv_state(v)) return *state;
  fail_type(what, "a paged KV cache or an RNN state", v);
}

Integers::Integers(const View &v, std::string_view what) {
  if (const auto *shape = try_as<Shape>(v)) {
    view_ = shape->dims();
    return;
  }
  if (v.type != OPD_ARRAY && v.type != kList) fail_type(what, "a shape or an array of integers", v);
  for (const View &item : static_cast<Array *>(object_of(v))->views()) copy_.push_back(as_int(item, what));
  view_ = copy_;
}

}  // namespace opd
