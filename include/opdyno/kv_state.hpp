/** @file kv_state.hpp  KV caches and RNN states: the data that a language model's program keeps for its sequences
 * between calls. */
#ifndef OPDYNO_KV_STATE_HPP_
#define OPDYNO_KV_STATE_HPP_

#include <opdyno/kv_state.h>

#include <map>
#include <opdyno/value.hpp>
#include <vector>

namespace opdyno {

/** A paged attention cache, or the states of a recurrent network. One thread at a time. */
class KvState : public Handle<opd_kv_state> {
 public:
  using Handle::Handle;
  /** Makes a state from the value that the program's function returned. */
  explicit KvState(const Value &value) { check(opd_kv_state_from_value(&value.view(), out())); }
  void add(int64_t id) const { check(opd_kv_state_add(get(), id)); }
  void remove(int64_t id) const { check(opd_kv_state_remove(get(), id)); }
  void clear() const { check(opd_kv_state_clear(get())); }
  /** The new sequence begins with @p num_tokens tokens of the parent; -1: all. */
  void fork(int64_t parent, int64_t child, int64_t num_tokens = -1) const {
    check(opd_kv_state_fork(get(), parent, child, num_tokens));
  }
  void pop(int64_t id, int64_t num_tokens) const { check(opd_kv_state_pop(get(), id, num_tokens)); }
  void begin(const std::vector<int64_t> &ids, const std::vector<int64_t> &counts,
             const std::vector<int64_t> &parents = {}) const {
    check(opd_kv_state_begin(get(), ids.data(), count_of(ids.size()), counts.data(), count_of(counts.size()),
                             parents.data(), count_of(parents.size())));
  }
  /** If @p keep is false, the tokens of the pass are removed. */
  void end(bool keep = true) const { check(opd_kv_state_end(get(), keep)); }
  /** Returns the number of tokens of each sequence, by the sequence's number. */
  std::map<int64_t, int64_t> lengths() const {
    Handle<opd_map> lengths;
    check(opd_kv_state_lengths(get(), lengths.out()));
    std::map<int64_t, int64_t> all;
    for (int32_t i = 0; i < opd_map_count(lengths.get()); ++i) {
      Value id, length;
      check(opd_map_entry(lengths.get(), i, id.out(), length.out()));
      all[id.view().u.int64] = length.view().u.int64;
    }
    return all;
  }
  opd_kv_stats stats() const {
    opd_kv_stats stats{};
    stats.struct_size = sizeof stats;
    check(opd_kv_state_get_stats(get(), &stats));
    return stats;
  }
};

/** A pass that lasts as long as the object. Unless keep() was called, its tokens are removed at the end, as after a
 * failed call. */
class KvPass {
 public:
  KvPass(KvState state, const std::vector<int64_t> &ids, const std::vector<int64_t> &counts,
         const std::vector<int64_t> &parents = {})
      : state_(std::move(state)) {
    state_.begin(ids, counts, parents);
  }
  KvPass(const KvPass &) = delete;
  KvPass &operator=(const KvPass &) = delete;
  ~KvPass() {
    if (is_open_) opd_error_release(opd_kv_state_end(state_.get(), 0));
  }
  void keep() {
    state_.end();
    is_open_ = false;
  }

 private:
  KvState state_;
  bool is_open_ = true;
};

}  // namespace opdyno

#endif
