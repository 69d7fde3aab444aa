// Implements include/opdyno/kv_state.h.
#include "vm/kv/kv_state.h"

#include <algorithm>

#include "capi/handles.h"
#include "value/map.h"

using namespace opd;

namespace {

template <class F>
opd_error *use(opd_kv_state *state, F &&body) {
  return guard([&] {
    OPD_REQUIRE(state);
    auto &object = *unwrap<KvState>(state);
    const KvUse alone(object);
    body(object);
  });
}

}  // namespace

opd_error *opd_kv_state_from_value(const opd_value *value, opd_kv_state **out_state) {
  return guard([&] {
    OPD_REQUIRE(value, out_state);
    *out_state = wrap<opd_kv_state>(Ref<KvState>::share(&as_kv_state(*value, "value")));
  });
}

opd_error *opd_kv_state_add(opd_kv_state *state, int64_t id) {
  return use(state, [&](KvState &object) { object.add_sequence(id); });
}

opd_error *opd_kv_state_remove(opd_kv_state *state, int64_t id) {
  return use(state, [&](KvState &object) { object.remove_sequence(id); });
}

opd_error *opd_kv_state_clear(opd_kv_state *state) {
  return use(state, [](KvState &object) { object.clear(); });
}

opd_error *opd_kv_state_fork(opd_kv_state *state, int64_t parent, int64_t child, int64_t num_tokens) {
  return use(state, [&](KvState &object) { object.fork_sequence(parent, child, num_tokens); });
}

opd_error *opd_kv_state_pop(opd_kv_state *state, int64_t id, int64_t num_tokens) {
  return use(state, [&](KvState &object) { object.pop(id, num_tokens); });
}

opd_error *opd_kv_state_begin(opd_kv_state *state, const int64_t *ids, int32_t num_ids, const int64_t *counts,
                              int32_t num_counts, const int64_t *parents, int32_t num_parents) {
  return use(state, [&](KvState &object) {
    const auto batch = OPD_REQUIRE_ITEMS(ids, num_ids), new_tokens = OPD_REQUIRE_ITEMS(counts, num_counts),
               tree = OPD_REQUIRE_ITEMS(parents, num_parents);
    require_batch(batch, new_tokens, "counts", 1);
    object.begin_forward(batch, new_tokens, tree.empty() ? std::nullopt : std::optional(tree));
  });
}

opd_error *opd_kv_state_end(opd_kv_state *state, int32_t keep) {
  return use(state, [&](KvState &object) { keep ? object.end_forward() : object.cancel_forward(); });
}

opd_error *opd_kv_state_lengths(opd_kv_state *state, opd_map **out_lengths) {
  return use(state, [&](KvState &object) {
    OPD_REQUIRE(out_lengths);
    auto lengths = object.lengths();
    std::sort(lengths.begin(), lengths.end(), [](auto &a, auto &b) { return a.id < b.id; });
    std::vector<View> pairs;
    for (const auto &[id, num_tokens] : lengths) pairs.insert(pairs.end(), {opd_int(id), opd_int(num_tokens)});
    *out_lengths = wrap<opd_map>(Map::make(pairs));
  });
}

opd_error *opd_kv_state_get_stats(opd_kv_state *state, opd_kv_stats *out_stats) {
  return use(state, [&](KvState &object) {
    OPD_REQUIRE(out_stats);
    require_sized(*out_stats);
    const KvUsage usage = object.usage();
    opd_kv_stats stats{};
    stats.num_sequences = usage.num_sequences;
    stats.num_tokens = usage.num_tokens;
    stats.max_batch = usage.max_batch;
    stats.page_size = usage.page_size;
    stats.num_pages = usage.num_pages;
    stats.free_pages = usage.num_free_pages;
    stats.bytes = usage.bytes;
    write_sized(stats, out_stats);
  });
}
