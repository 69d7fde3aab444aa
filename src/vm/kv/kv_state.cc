#include "vm/kv/kv_state.h"

#include "vm/kv/paged_kv_cache.h"
#include "vm/kv/rnn_state.h"

namespace opd {

KvUse::KvUse(KvState &state) : state_(state) {
  if (state.is_in_use_.exchange(true, std::memory_order_acquire))
    fail(OPD_FAILED_PRECONDITION, "another call uses the ", type_key(state.type_index),
         " now; use one state from one thread at a time");
}

KvState &as_kv_state(const View &v, std::string_view what) {
  if (v.type == PagedKvCache::type()) return *static_cast<PagedKvCache *>(object_of(v));
  if (v.type == RnnState::type()) return *static_cast<RnnState *>(object_of(v));
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
