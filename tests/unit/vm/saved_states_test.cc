// KV states that were saved and made again: the second one goes on as the first.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "support/plain_kv_states.h"

using namespace opd;
using namespace opdyno_test;

namespace {

std::map<int64_t, int64_t> lengths_of(const KvState &state) {
  std::map<int64_t, int64_t> lengths;
  for (const auto &[id, tokens] : state.lengths()) lengths[id] = tokens;
  return lengths;
}

// All but the contents of pages, which no kernel has written.
std::string structure(const KvState &state) {
  std::string bytes = saved(state);
  const KvUsage usage = state.usage();
  constexpr size_t kPage = sizeof(float) * 2 * 2 * 4 * 2;  // of two layers, keys and values, four rows of two numbers
  bytes.resize(bytes.size() - kPage * static_cast<size_t>(usage.num_pages - usage.num_free_pages));
  return bytes;
}

// What one operation does to a state, or the message of its error.
using Operation = std::function<void(KvState &)>;
std::string outcome(KvState &state, const Operation &operation) {
  try {
    operation(state);
    return "";
  } catch (const Exception &e) { return e.what(); }
}

// A random operation that the state's sequences allow, or nearly.
Operation random_operation(const KvState &state, std::mt19937 &random, bool has_windows) {
  const auto below = [&random](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
  const auto lengths = lengths_of(state);
  const int64_t id = below(6), other = below(6);
  const int64_t rows = lengths.contains(id) ? lengths.at(id) : 0;
  switch (below(has_windows ? 8 : 9)) {
    case 0:
      return [=](KvState &s) { s.add_sequence(id); };
    case 1:
      return [=, at = below(rows + 2) - 1](KvState &s) { s.fork_sequence(id, other, at); };
    case 2:
      return [=, n = below(rows + 1)](KvState &s) { s.pop(id, n); };
    case 3:
      return [=, is_rare = below(3) == 0](KvState &s) { is_rare ? s.remove_sequence(id) : s.end_forward(); };
    case 4:
      return [=](KvState &s) { s.cancel_forward(); };
    case 7:
      if (has_windows)
        return [=, window = below(12) + 1](KvState &s) {
          static_cast<PagedKvCache &>(s).enable_window(id, window, window / 2);
        };
      break;
    case 8:
      return [=, leaf = below(4) - 1](KvState &s) {
        const int64_t ids[] = {id}, leaves[] = {leaf};
        static_cast<PagedKvCache &>(s).commit(ids, leaves);
      };
    default:
      break;
  }
  std::vector<int64_t> ids, counts, parents;
  for (const auto &[known, length] : lengths)
    if (ids.size() < 4 && below(3) > 0) ids.push_back(known), counts.push_back(below(3) == 0 ? below(9) + 1 : 1);
  if (ids.empty()) return [=](KvState &s) { s.end_forward(); };
  for (const int64_t count : counts)
    for (int64_t k = 0; k < count; ++k) parents.push_back(below(k + 1) - 1);
  const bool has_trees = !has_windows && below(5) == 0;
  return [=](KvState &s) {
    s.end_forward();
    s.begin_forward(ids, counts, has_trees ? std::optional<std::span<const int64_t>>(parents) : std::nullopt);
  };
}

void go_on_together(KvState &first, const std::function<Ref<KvState>()> &make, bool has_windows, uint32_t seed) {
  std::mt19937 random(seed);
  int num_saved = 0;
  for (int step = 0; step < 120; ++step) {
    std::string bytes;
    try {
      bytes = saved(first);
    } catch (const Exception &e) {
      EXPECT_TRUE(has_windows && std::string(e.what()).ends_with("in the pass that runs")) << e.what();
    }
    Ref<KvState> second;
    if (!bytes.empty()) {
      second = make();
      restore(*second, bytes);
      EXPECT_EQ(saved(*second), bytes);
      EXPECT_EQ(lengths_of(*second), lengths_of(first));
      EXPECT_EQ(second->usage().num_free_pages, first.usage().num_free_pages);
      ++num_saved;
    }
    const Operation operation = random_operation(first, random, has_windows);
    const std::string done = outcome(first, operation);
    if (!second) continue;
    EXPECT_EQ(outcome(*second, operation), done);
    try {
      bytes = structure(first);
    } catch (const Exception &) { continue; }
    ASSERT_EQ(structure(*second), bytes) << "seed " << seed << ", step " << step;
  }
  EXPECT_GT(num_saved, 60);
}

}  // namespace

TEST(ASavedCache, BehavesLikeTheOriginal) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const auto make = [] { return make_plain_cache(); };
    go_on_together(*make(), make, false, seed);
  }
}

TEST(ASavedCache, WithWindowsBehavesLikeTheOriginal) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const auto make = [] { return make_plain_cache(48, 4, true); };
    go_on_together(*make(), make, true, seed);
  }
}

TEST(ASavedCache, WithWindowsHasItsExtensionFactors) {
  std::vector<Value> given = make_plain_cache(64, 4, true)->config().arguments();
  const int64_t two[] = {2};
  given[8] = static_cast<int64_t>(KvRope::kNormal);
  given[11] = make_tensor(two, DLDataType{kDLFloat, 32, 1}, kHost);
  const KvConfig config = KvConfig::from(views_of(given)), again = KvConfig::from(views_of(config.arguments()));
  for (const KvConfig *one : {&config, &again}) {
    EXPECT_EQ(one->rope, KvRope::kInline) << "windows have the kernels rotate";
    EXPECT_TRUE(one->has_windows);
    EXPECT_TRUE(one->rope_factors);
  }
}

TEST(SavedStates, HaveTheirContentsAndNothingElse) {
  const auto state = make_plain_states(), again = make_plain_states();
  const int64_t ids[] = {7}, one[] = {1};
  state->add_sequence(7);
  state->begin_forward(ids, one, std::nullopt);
  const std::string bytes = saved(*state);
  restore(*again, bytes);
  EXPECT_EQ(saved(*again), bytes);
  again->end_forward();
  EXPECT_EQ(lengths_of(*again), (std::map<int64_t, int64_t>{{7, 1}}));
  again->pop(7, 1);
  for (int64_t layer = 0; layer < 3; ++layer) {
    const Ref<Tensor> current = again->debug_get(layer, 0, 7);
    EXPECT_EQ(reinterpret_cast<const float *>(data_of(current->dl))[1], 0.5F);
  }
  const std::string numbers = bytes.substr(bytes.size() - size_t{3} * 3 * 2 * sizeof(float));
  for (size_t layer = 0; layer < 3; ++layer)  // one of three histories was written
    EXPECT_EQ(numbers.substr(layer * 24 + 8, 16), std::string(16, '\0'));
}

// What a recording keeps of a call that appended rows.
TEST(RowsOfACache, CoverOneLayersRowsInUseAndTheRunningPass) {
  const Value append = make_function([](Args args) {  // pages, keys, values, places
    const DLTensor &places = *try_dltensor(args[3]);
    for (int64_t i = 0; i < places.shape[0]; ++i)
      if (const int32_t place = reinterpret_cast<const int32_t *>(data_of(places))[i]; place >= 0)
        reinterpret_cast<float *>(data_of(*try_dltensor(args[0])))[place / 4 * 16 + place % 4 * 2] =
            1.0F + static_cast<float>(place);
    return Value();
  });
  const auto cache = make_plain_cache(64, 4, false, append);
  const int64_t ids[] = {5}, counts[] = {5}, one[] = {1};
  const auto pass = [&](std::span<const int64_t> rows, int64_t layer) {
    cache->begin_forward(ids, rows, std::nullopt);
    const int64_t given[] = {rows[0], 3, 2}, made[] = {rows[0], 1, 2};
    const Ref<Tensor> qkv = make_tensor(given, DLDataType{kDLFloat, 32, 1}, kHost),
                      out = make_tensor(made, DLDataType{kDLFloat, 32, 1}, kHost);
    cache->attend_fused(layer, 1, qkv->dl, out->dl);
  };
  const auto keys_in = [&](int64_t layer) {  // the first number of each
    const std::string rows = cache->rows_of(layer, 0);
    std::vector<float> keys;
    for (size_t at = 0; at < rows.size(); at += 64)
      for (size_t row = 0; row < 4; ++row) std::memcpy(&keys.emplace_back(), rows.data() + at + 8 * row, sizeof(float));
    return keys;
  };
  cache->add_sequence(5);
  pass(counts, 1);
  EXPECT_EQ(keys_in(1), (std::vector<float>{1, 2, 3, 4, 5, 0, 0, 0}));
  cache->end_forward();
  cache->pop(5, 2);
  pass(one, 1);
  EXPECT_EQ(keys_in(1), (std::vector<float>{1, 2, 3, 4})) << "the rows of pages that are free do not count";
  cache->cancel_forward();
  EXPECT_EQ(keys_in(1), (std::vector<float>{1, 2, 3, 0})) << "nor do rows that were taken back";
}

TEST(SavedStates, BehaveLikeTheOriginals) {
  std::mt19937 random(1);
  const auto below = [&random](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
  const auto first = make_plain_states(4);
  for (int step = 0; step < 400; ++step) {
    const auto second = make_plain_states(4);
    restore(*second, saved(*first));
    const int64_t id = below(4), other = below(4), choice = below(6), count = below(3) + 1;
    const Operation operation = [=](KvState &s) {
      const int64_t ids[] = {id}, counts[] = {count};
      if (choice == 0) s.add_sequence(id);
      else if (choice == 1) s.fork_sequence(id, other, -1);
      else if (choice == 2) s.pop(id, count);
      else if (choice == 3) s.end_forward();
      else if (choice == 4 && count == 1) s.remove_sequence(id);
      else s.begin_forward(ids, counts, std::nullopt);
    };
    EXPECT_EQ(outcome(*second, operation), outcome(*first, operation));
    ASSERT_EQ(lengths_of(*second), lengths_of(*first)) << step;
    ASSERT_EQ(second->usage().num_free_pages, first->usage().num_free_pages);
  }
}

TEST(ASavedCache, IsRefusedOrSoundIfDamaged) {
  const auto cache = make_plain_cache(32);
  cache->add_sequence(1);
  const int64_t one[] = {1}, two[] = {1, 2}, nine[] = {9}, each[] = {1, 2};
  cache->begin_forward(one, nine, std::nullopt);
  cache->fork_sequence(1, 2, 6);
  cache->begin_forward(two, each, std::nullopt);
  const std::string bytes = saved(*cache);
  size_t num_refused = 0;
  const auto use = [](PagedKvCache &again) {
    const int64_t id[] = {1}, count[] = {3};
    const Operation operations[] = {
        [&](KvState &s) { s.end_forward(); },          [&](KvState &s) { s.pop(1, 4); },
        [&](KvState &s) { s.fork_sequence(1, 3, 5); }, [&](KvState &s) { s.begin_forward(id, count, std::nullopt); },
        [&](KvState &s) { s.remove_sequence(2); },     [&](KvState &s) { s.clear(); }};
    for (const Operation &operation : operations) outcome(again, operation);
  };
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const int change : {1, 0x80}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const auto again = make_plain_cache(32);
      try {
        restore(*again, damaged);
        use(*again);
      } catch (const Exception &) { ++num_refused; }
    }
  EXPECT_GT(num_refused, bytes.size() / 2);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto again = make_plain_cache(32);
    EXPECT_THROW(restore(*again, bytes.substr(0, size)), Exception) << size;
  }
  EXPECT_THROW(restore(*make_plain_cache(32), bytes + "x"), Exception);
  EXPECT_THROW(restore(*make_plain_cache(4), bytes), Exception) << "a cache with fewer pages";
}
