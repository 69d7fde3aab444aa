// Random work on a paged attention cache: sequences come and go, are forked and cut, and passes add rows.
#pragma once
#include "support/checked_kv_cache.h"

namespace opdyno_test::attention {

inline std::vector<int64_t> some(Checked &cache, int64_t most) {
  std::vector<int64_t> ids;
  for (const auto &[id, sequence] : cache.sequences) ids.push_back(id);
  std::shuffle(ids.begin(), ids.end(), cache.random);
  ids.resize(static_cast<size_t>(std::min<int64_t>(1 + cache.below(most), static_cast<int64_t>(ids.size()))));
  return ids;
}

inline int64_t rows_of(const Checked &cache) {
  int64_t rows = 0;
  for (const auto &[id, sequence] : cache.sequences) rows += static_cast<int64_t>(sequence.rows.size());
  return rows;
}

enum class With { kNothing, kWindows, kTrees };

inline void work_at_random(With with, uint32_t seed, int steps, DLDevice device = {kDLCPU, 0}) {
  Sizes sizes;
  sizes.device = device;
  sizes.windows = with == With::kWindows;
  sizes.swaps_trees = seed % 2;
  Checked cache(sizes, seed);
  cache.is_typed = seed > 2;
  const int64_t all_pages = cache.free_pages();
  int64_t next = 0;
  for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    const auto ids = some(cache, 4);
    const int64_t choice = cache.below(100);
    if (ids.empty() || (choice < 10 && cache.sequences.size() < 6)) {
      cache.add(next);
      if (with == With::kWindows && cache.below(2)) {
        const int64_t window = 1 + cache.below(40);
        cache.window(next, window, cache.below(window));
      }
      ++next;
    } else if (choice < 22 && cache.sequences.size() < 6) {
      const auto &parent = cache.sequences.at(ids[0]);
      const auto length = static_cast<int64_t>(parent.rows.size());
      const int64_t most = parent.window ? std::min(length, parent.sink) : length;
      cache.fork(ids[0], next++, cache.below(5) || parent.window ? cache.below(most + 1) : -1);
    } else if (choice < 36) {
      cache.pop(ids[0], cache.below(static_cast<int64_t>(cache.sequences.at(ids[0]).rows.size()) + 1));
    } else if (choice < 44 || rows_of(cache) > 140) {
      cache.remove(ids[0]);
    } else if (with == With::kTrees && choice < 75) {
      for (int64_t round = 1 + cache.below(3); round-- > 0;) {
        std::vector<int64_t> counts;
        std::vector<std::vector<int64_t>> parents;
        for (const int64_t id : ids) {
          const auto nodes = static_cast<int64_t>(cache.sequences.at(id).nodes.size());
          counts.push_back(1 + cache.below(5));
          parents.emplace_back();
          for (int64_t k = 0; k < counts.back(); ++k) parents.back().push_back(cache.below(nodes + k + 1) - 1);
        }
        if (cache.below(5) == 0) cache.run_in_vain(ids, counts, parents);
        else cache.run(ids, counts, parents);
      }
      std::vector<int64_t> leaves;
      std::vector<int64_t> grown;  // if all passes were in vain, a sequence has no tree
      for (const int64_t id : ids)
        if (const auto nodes = static_cast<int64_t>(cache.sequences.at(id).nodes.size()); nodes > 0)
          grown.push_back(id), leaves.push_back(cache.below(nodes + 1) - 1);
      if (!grown.empty()) cache.commit(grown, leaves);
    } else {
      const bool decodes = cache.below(2);
      std::vector<int64_t> counts;
      for (size_t i = 0; i < ids.size(); ++i) counts.push_back(decodes ? 1 : 1 + cache.below(15));
      if (cache.below(5) == 0) cache.run_in_vain(ids, counts);
      else cache.run(ids, counts);
    }
    if (step % 10 == 0) cache.expect_rows();
  }
  cache.expect_rows();
  while (!cache.sequences.empty()) cache.remove(cache.sequences.begin()->first);
  EXPECT_EQ(cache.free_pages(), all_pages);
  EXPECT_EQ(cache_function("empty")(cache.cache).to_string(), "true");
}

}  // namespace opdyno_test::attention
