// The paged attention cache, with kernels of the test, against a list of the rows that each sequence should have.
#include <map>
#include <random>
#include <thread>

#include "support/attention_kernels.h"

using namespace opdyno_test;
using namespace opdyno_test::attention;

namespace {

Function state(const std::string &name) { return Function::global(("vm.builtin.kv_state_" + name).c_str()); }
Function cache_function(const std::string &name) {
  return Function::global(("vm.builtin.attention_kv_cache_" + name).c_str());
}

std::string text_of(const Value &value) {
  const char *data = nullptr;
  size_t size = 0;
  check(opd_string_get(&value.view(), &data, &size));
  return {data, size};
}

// A cache and what it should hold.
class Checked {
 public:
  explicit Checked(const Sizes &sizes, uint32_t seed = 1) : cache(make_cache(sizes)), sizes_(sizes), random(seed) {}

  struct Sequence {
    std::vector<Row> rows;
    int64_t window = 0, sink = 0;
    std::vector<Row> nodes;  // of the tree that is not committed yet
    std::vector<int64_t> parents;
  };
  Value cache;
  std::map<int64_t, Sequence> sequences;

  int64_t below(int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); }
  void add(int64_t id) { state("add_sequence")(cache, id), sequences[id]; }
  void remove(int64_t id) { state("remove_sequence")(cache, id), sequences.erase(id); }
  void fork(int64_t parent, int64_t child, int64_t position) {
    state("fork_sequence")(cache, parent, child, position);
    const auto &rows = sequences.at(parent).rows;
    sequences[child].rows.assign(rows.begin(), position < 0 ? rows.end() : rows.begin() + position);
  }
  void pop(int64_t id, int64_t n) {
    state("popn")(cache, id, n);
    auto &rows = sequences.at(id).rows;
    rows.resize(rows.size() - static_cast<size_t>(n));
  }
  void window(int64_t id, int64_t size, int64_t sink) {
    cache_function("enable_sliding_window_for_seq")(cache, id, size, sink);
    sequences.at(id).window = size, sequences.at(id).sink = sink;
  }

  // A pass of new random rows for each sequence, whose attention is compared. `parents`: of the nodes of trees.
  void run(const std::vector<int64_t> &ids, const std::vector<int64_t> &counts,
           const std::vector<std::vector<int64_t>> &parents = {}) {
    if (parents.empty()) {
      state("begin_forward")(cache, shape_of(ids), shape_of(counts));
    } else {
      std::vector<int64_t> all;
      for (const auto &each : parents) all.insert(all.end(), each.begin(), each.end());
      state("begin_forward")(cache, shape_of(ids), shape_of(counts), shape_of(all));
    }
    int64_t total = 0;
    for (const int64_t count : counts) total += count;
    Tensor qkv({total, kHeads + 2, kDim}, "float32"), out({total, kHeads, kDim}, "float32");
    std::uniform_real_distribution<float> numbers(-2, 2);
    for (int64_t i = 0; i < total * (kHeads + 2) * kDim; ++i) qkv.data<float>()[i] = numbers(random);
    cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, qkv, out);
    int64_t row = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      compare(sequences.at(ids[i]), counts[i], parents.empty() ? nullptr : &parents[i], qkv, out, row);
      row += counts[i];
    }
    state("end_forward")(cache);
  }

  void commit(const std::vector<int64_t> &ids, const std::vector<int64_t> &leaves) {
    cache_function("commit_accepted_token_tree_nodes")(cache, shape_of(ids), shape_of(leaves));
    for (size_t i = 0; i < ids.size(); ++i) {
      Sequence &sequence = sequences.at(ids[i]);
      std::vector<Row> path;
      for (int64_t node = leaves[i]; node >= 0; node = sequence.parents[static_cast<size_t>(node)])
        path.insert(path.begin(), sequence.nodes[static_cast<size_t>(node)]);
      sequence.rows.insert(sequence.rows.end(), path.begin(), path.end());
      sequence.nodes.clear(), sequence.parents.clear();
    }
  }

  void expect_rows() {
    int64_t total = 0;
    for (const auto &[id, sequence] : sequences) {
      const auto length = static_cast<int64_t>(sequence.rows.size() + sequence.nodes.size());
      EXPECT_EQ(cache_function("get_sequence_length")(cache, id).view().u.int64, length);
      total += length;
      if (length == 0) continue;
      Tensor k({sizes_.layers, length, 1, kDim}, "float32"), v({sizes_.layers, length, 1, kDim}, "float32");
      cache_function("debug_get_kv")(cache, id, int64_t{0}, length, k, v);
      for (size_t i = 0; i < sequence.rows.size(); ++i) {
        ASSERT_EQ(std::vector<float>(k.data<float>() + i * kDim, k.data<float>() + (i + 1) * kDim),
                  std::vector<float>(sequence.rows[i].k.begin(), sequence.rows[i].k.end()))
            << "row " << i << " of " << id;
        ASSERT_EQ(v.data<float>()[i * kDim], sequence.rows[i].v[0]);
      }
    }
    EXPECT_EQ(cache_function("get_total_sequence_length")(cache).view().u.int64, total);
  }
  int64_t free_pages() { return cache_function("get_num_available_pages")(cache).view().u.int64; }

 private:
  void compare(Sequence &sequence, int64_t count, const std::vector<int64_t> *parents, const Tensor &qkv,
               const Tensor &out, int64_t first) {
    const std::vector<Row> before = sequence.rows;
    for (int64_t i = 0; i < count; ++i) {
      const float *given = qkv.data<float>() + (first + i) * (kHeads + 2) * kDim;
      Row row;
      std::copy_n(given + kHeads * kDim, kDim, row.k.begin());
      std::copy_n(given + (kHeads + 1) * kDim, kDim, row.v.begin());
      std::vector<Row> seen = before;
      if (parents) {
        sequence.nodes.push_back(row), sequence.parents.push_back((*parents)[static_cast<size_t>(i)]);
        for (auto node = static_cast<int64_t>(sequence.nodes.size()) - 1; node >= 0;
             node = sequence.parents[static_cast<size_t>(node)])
          seen.push_back(sequence.nodes[static_cast<size_t>(node)]);
      } else {
        sequence.rows.push_back(row);
        seen = sequence.rows;
      }
      for (int64_t h = 0; h < kHeads; ++h) {
        const auto expected = attend(given + h * kDim, seen).first;
        for (int64_t d = 0; d < kDim; ++d)
          ASSERT_NEAR(out.data<float>()[((first + i) * kHeads + h) * kDim + d], expected[static_cast<size_t>(d)], 1e-4)
              << "row " << i << " of " << count;
      }
    }
    // A window keeps the first rows and the latest.
    auto &rows = sequence.rows;
    if (const auto length = static_cast<int64_t>(rows.size()); sequence.window > 0 && length > sequence.window)
      rows.erase(rows.begin() + sequence.sink, rows.begin() + sequence.sink + length - sequence.window);
  }

  Sizes sizes_;

 public:
  std::mt19937_64 random;
};

std::vector<int64_t> some(Checked &cache, int64_t most) {
  std::vector<int64_t> ids;
  for (const auto &[id, sequence] : cache.sequences) ids.push_back(id);
  std::shuffle(ids.begin(), ids.end(), cache.random);
  ids.resize(static_cast<size_t>(std::min<int64_t>(1 + cache.below(most), static_cast<int64_t>(ids.size()))));
  return ids;
}

int64_t rows_of(const Checked &cache) {
  int64_t rows = 0;
  for (const auto &[id, sequence] : cache.sequences) rows += static_cast<int64_t>(sequence.rows.size());
  return rows;
}

enum class With { kNothing, kWindows, kTrees };

void work_at_random(With with, uint32_t seed, int steps) {
  Sizes sizes;
  sizes.windows = with == With::kWindows;
  sizes.swaps_trees = seed % 2;
  Checked cache(sizes, seed);
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
        cache.run(ids, counts, parents);
      }
      std::vector<int64_t> leaves;
      for (const int64_t id : ids)
        leaves.push_back(cache.below(static_cast<int64_t>(cache.sequences.at(id).nodes.size()) + 1) - 1);
      cache.commit(ids, leaves);
    } else {
      const bool decodes = cache.below(2);
      std::vector<int64_t> counts;
      for (size_t i = 0; i < ids.size(); ++i) counts.push_back(decodes ? 1 : 1 + cache.below(15));
      cache.run(ids, counts);
    }
    if (step % 10 == 0) cache.expect_rows();
  }
  cache.expect_rows();
  while (!cache.sequences.empty()) cache.remove(cache.sequences.begin()->first);
  EXPECT_EQ(cache.free_pages(), all_pages);
  EXPECT_EQ(cache_function("empty")(cache.cache).to_string(), "true");
}

}  // namespace

TEST(PagedKvCache, HoldsTheRowsOfSequencesWhateverIsDoneToThem) {
  for (uint32_t seed = 1; seed <= 4; ++seed) work_at_random(With::kNothing, seed, 300);
}

TEST(PagedKvCache, KeepsTheFirstAndTheLatestRowsOfSequencesWithAWindow) {
  for (uint32_t seed = 1; seed <= 4; ++seed) work_at_random(With::kWindows, seed, 300);
}

TEST(PagedKvCache, ComputesTreesOfTokensAndKeepsThePathsThatAreCommitted) {
  for (uint32_t seed = 1; seed <= 4; ++seed) work_at_random(With::kTrees, seed, 200);
}

TEST(PagedKvCache, ReadsRowsThatManySequencesShareOnce) {
  Sizes sizes;
  sizes.max_batch = 40, sizes.max_total = 1024;
  Checked cache(sizes);
  cache.add(0);
  cache.run({0}, {32});
  std::vector<int64_t> ids;
  for (int64_t id = 1; id <= 33; ++id) cache.fork(0, id, 32), ids.push_back(id);
  called().clear();
  cache.run(ids, std::vector<int64_t>(33, 1));
  // Without a decode kernel at depth 0, since 33 sequences read the same two pages. Depth 1 is empty before the rows
  // are stored.
  EXPECT_EQ(std::count(called().begin(), called().end(), "prefill"), 1);
  EXPECT_EQ(std::count(called().begin(), called().end(), "decode"), 1);
}

TEST(PagedKvCache, CallsTheKernelsInTVMsOrder) {
  Checked cache(Sizes{});
  using Names = std::vector<std::string>;
  const auto calls_of = [&](auto &&work) {
    called().clear();
    work();
    return called();
  };
  cache.add(0), cache.add(1);
  EXPECT_EQ(calls_of([&] { cache.run({0}, {3}); }), (Names{"split_rotary", "ragged", "append"}));
  EXPECT_EQ(calls_of([&] { cache.run({0}, {3}); }), (Names{"split_rotary", "ragged", "prefill", "merge", "append"}));
  EXPECT_EQ(calls_of([&] { cache.run({0, 1}, {1, 1}); }), (Names{"split_rotary", "append", "decode"}));
  EXPECT_EQ(calls_of([&] {
              cache.run({1}, {3}, {{-1, 0, 0}});
            }),
            (Names{"split_rotary", "ragged_tree", "prefill", "merge", "append"}));
  EXPECT_EQ(calls_of([&] { cache.run({1}, {1}, {{0}}); }), (Names{"split_rotary", "append", "prefill_tree"}));
  EXPECT_EQ(calls_of([&] { cache.commit({1}, {2}); }), (Names{"compact"}));
  EXPECT_EQ(calls_of([&] { cache.fork(0, 2, 5); }), (Names{"copy_page"}));
}

TEST(PagedKvCache, TellsThePositionsOfTheNewRows) {
  Checked cache(Sizes{});
  cache.add(5), cache.add(6);
  cache.run({5}, {3});
  state("begin_forward")(cache.cache, shape_of({6, 5}), shape_of({2, 1}));
  const Value positions = cache_function("get_query_positions")(cache.cache);
  EXPECT_EQ(elements_of<int32_t>(Tensor::of(positions.view())), (std::vector<int32_t>{0, 1, 3}));
  state("end_forward")(cache.cache);
  state("clear")(cache.cache);
  EXPECT_EQ(cache_function("empty")(cache.cache).to_string(), "true");
}

TEST(PagedKvCache, ALayerWithAWindowSeesTheLatestRows) {
  Sizes sizes;
  sizes.kinds = {3};
  sizes.layer_window = 20;
  const Value cache = make_cache(sizes);
  state("add_sequence")(cache, 0);
  std::vector<Row> rows;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> numbers(-2, 2);
  for (int step = 0; step < 60; ++step) {
    state("begin_forward")(cache, shape_of({0}), shape_of({1}));
    Tensor qkv({1, kHeads + 2, kDim}, "float32"), out({1, kHeads, kDim}, "float32");
    for (int64_t i = 0; i < (kHeads + 2) * kDim; ++i) qkv.data<float>()[i] = numbers(random);
    cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, qkv, out);
    state("end_forward")(cache);
    Row row;
    std::copy_n(qkv.data<float>() + kHeads * kDim, kDim, row.k.begin());
    std::copy_n(qkv.data<float>() + (kHeads + 1) * kDim, kDim, row.v.begin());
    rows.push_back(row);
    const std::vector<Row> seen(rows.size() > 20 ? rows.end() - 20 : rows.begin(), rows.end());
    ASSERT_NEAR(out.data<float>()[0], attend(qkv.data<float>(), seen).first[0], 1e-4) << step;
  }
}

TEST(PagedKvCache, PartsOfAttentionCanBeComputedAlone) {
  Checked cache(Sizes{});
  cache.add(0);
  cache.run({0}, {4});
  const std::vector<Row> old = cache.sequences.at(0).rows;
  state("begin_forward")(cache.cache, shape_of({0}), shape_of({2}));
  const Tensor q = floats({1, 2, 3, 4, 5, 6, 7, 8}, {2, kHeads, kDim}), k = floats({.5, 1, -1, 2}, {2, 1, kDim}),
               v = floats({3, 1, 4, 1}, {2, 1, kDim});
  Tensor own({2, kHeads, kDim}, "float32"), own_lse({2, kHeads}, "float32"), past({2, kHeads, kDim}, "float32"),
      past_lse({2, kHeads}, "float32"), shared({2, kHeads, kDim}, "float32");
  cache_function("self_attention")(cache.cache, int64_t{0}, kScale, q, k, v, own, own_lse);
  cache_function("cross_attention")(cache.cache, int64_t{0}, kScale, q, past, past_lse);
  EXPECT_NEAR(past.data<float>()[0], attend(q.data<float>(), old).first[0], 1e-4);
  const Value merged = cache_function("merge_attn_output_inplace")(cache.cache, own, own_lse, past, past_lse);
  cache_function("attention_with_shared_kv")(cache.cache, int64_t{0}, kScale, q, k, v, shared);
  std::vector<Row> seen = old;
  seen.push_back({{.5, 1}, {3, 1}}), seen.push_back({{-1, 2}, {4, 1}});
  EXPECT_NEAR(to_floats(item_of(merged, 0))[5], attend(q.data<float>() + 4, seen).first[1], 1e-4);
  EXPECT_NEAR(shared.data<float>()[5], attend(q.data<float>() + 4, seen).first[1], 1e-4);
  state("clear")(cache.cache);
  state("add_sequence")(cache.cache, 1);
  state("begin_forward")(cache.cache, shape_of({1}), shape_of({2}));
  cache_function("cross_attention")(cache.cache, int64_t{0}, kScale, q, past, past_lse);
  EXPECT_EQ(past.data<float>()[0], 0) << "a sequence without rows has nothing to add";
  EXPECT_EQ(past_lse.data<float>()[0], -5e4F);
}

TEST(PagedKvCache, APassThatCannotBeginChangesNothing) {
  Sizes sizes;
  sizes.max_total = 64, sizes.chunk = 256;  // 5 pages
  Checked cache(sizes);
  cache.add(0), cache.add(1), cache.run({0}, {40});
  const auto begin = [&](std::vector<int64_t> ids, std::vector<int64_t> counts) {
    return [&cache, ids, counts] { state("begin_forward")(cache.cache, shape_of(ids), shape_of(counts)); };
  };
  expect_throws(begin({1, 0}, {17, 20}), OPD_OUT_OF_RANGE,
                "the cache is full: sequence 0 of 40 rows, which is to get 20 more after the "
                "sequences before it, needs 1 page of 16 rows, but 2 of 5 are free");
  expect_throws(begin({0, 0}, {1, 1}), OPD_INVALID_ARGUMENT, "sequence 0 is named twice");
  expect_throws(begin({0, 7}, {1, 1}), OPD_NOT_FOUND, "the cache has no sequence 7");
  expect_throws(begin({0}, {0}), OPD_INVALID_ARGUMENT, "sequence 0 must get at least 1 row, but gets 0");
  expect_throws(begin({0}, {257}), OPD_INVALID_ARGUMENT,
                "a pass may add 256 rows, the cache's prefill_chunk_size, but is to add 257");
  expect_throws(begin({0, 1}, {INT64_MAX, INT64_MAX}), OPD_INVALID_ARGUMENT, "a pass may add 256 rows");
  expect_throws(begin({0}, {1, 1}), OPD_INVALID_ARGUMENT, "must be of one length, but are of 1 and 2");
  expect_throws(begin({}, {}), OPD_INVALID_ARGUMENT, "at least one sequence");
  expect_throws(begin({0, 1, 2, 3, 4}, {1, 1, 1, 1, 1}), OPD_INVALID_ARGUMENT, "a pass may have 4 sequences");
  cache.expect_rows();
  EXPECT_EQ(cache.free_pages(), 2);
  cache.run({1, 0}, {17, 8});
  cache.expect_rows();
  expect_throws([&] { cache.fork(0, 5, 3); }, OPD_OUT_OF_RANGE,
                "the cache is full: the fork of sequence 0 at row 3 needs 1 page of 16 rows, but 0 of 5 are free");
  cache.expect_rows();
}

TEST(PagedKvCache, APassEndsWhenRowsMove) {
  Checked cache(Sizes{});
  cache.add(0), cache.add(1);
  cache.run({0, 1}, {20, 3});
  const Tensor qkv({1, kHeads + 2, kDim}, "float32"), out({1, kHeads, kDim}, "float32");
  for (const auto &move : std::vector<std::function<void()>>{[&] { cache.pop(1, 1); }, [&] { cache.fork(0, 2, 3); },
                                                             [&] { cache.remove(1); }}) {
    state("begin_forward")(cache.cache, shape_of({0}), shape_of({1}));
    move();
    expect_throws([&] { cache_function("attention_with_fused_qkv")(cache.cache, int64_t{0}, kScale, qkv, out); },
                  OPD_INVALID_ARGUMENT, "needs the rows of a pass");
    state("popn")(cache.cache, 0, 1);  // the row that was announced
  }
  cache.expect_rows();
}

TEST(PagedKvCache, MistakesAreNamed) {
  Checked cache(Sizes{});
  cache.add(0);
  expect_throws([&] { cache.add(0); }, OPD_INVALID_ARGUMENT,
                "vm.builtin.kv_state_add_sequence: the cache has a sequence 0 already");
  expect_throws([&] { cache.remove(9); }, OPD_NOT_FOUND, "the cache has no sequence 9");
  cache.run({0}, {5});
  expect_throws([&] { cache.fork(0, 1, 6); }, OPD_OUT_OF_RANGE,
                "fork_pos must be -1 or from 0 to the 5 rows of sequence 0, but is 6");
  expect_throws([&] { cache.fork(0, 1, -2); }, OPD_OUT_OF_RANGE, "but is -2");
  expect_throws([&] { cache.fork(0, 0, 1); }, OPD_INVALID_ARGUMENT, "has a sequence 0 already");
  expect_throws([&] { cache.pop(0, 6); }, OPD_OUT_OF_RANGE, "n must be from 0 to the 5 rows of sequence 0, but is 6");
  expect_throws([&] { cache.pop(0, -1); }, OPD_OUT_OF_RANGE, "but is -1");
  expect_throws([&] { cache.window(0, 8, 2); }, OPD_INVALID_ARGUMENT, "without support for sliding windows");
  expect_throws([&] { cache.run({0}, {2}, {{-1}}); }, OPD_INVALID_ARGUMENT, "parents of all 2 new tokens, but has 1");
  expect_throws(
      [&] {
        cache.run({0}, {2}, {{-1, 1}});
      },
      OPD_INVALID_ARGUMENT,
      "the parent of node 1 in the token tree of sequence 0 must be -1 or a node before it, but is 1");
  expect_throws([&] { cache.commit({0}, {0}); }, OPD_INVALID_ARGUMENT, "sequence 0 has no token tree");
  cache.run({0}, {3}, {{-1, -1, 0}});
  expect_throws([&] { cache.commit({0}, {3}); }, OPD_INVALID_ARGUMENT,
                "the leaf of sequence 0 must be -1 or from 0 to 2, but is 3");
  expect_throws([&] { cache.fork(0, 1, 2); }, OPD_INVALID_ARGUMENT, "has a token tree; commit one of its paths");
  expect_throws([&] { state("begin_forward")(cache.cache, shape_of({0}), shape_of({1})); }, OPD_INVALID_ARGUMENT,
                "commit one of its paths");
  cache.commit({0}, {-1});
  cache.expect_rows();
  state("begin_forward")(cache.cache, shape_of({0}), shape_of({1}));
  expect_throws([&] { state("begin_forward")(cache.cache, shape_of({0}), shape_of({1})); }, OPD_INVALID_ARGUMENT,
                "begin_forward was called already");
  Tensor qkv({1, kHeads + 2, kDim}, "float32"), out({1, kHeads, kDim}, "float32"), small({1, 1, kDim}, "float32");
  const auto attention = cache_function("attention_with_fused_qkv");
  expect_throws([&] { attention(cache.cache, int64_t{1}, kScale, qkv, out); }, OPD_OUT_OF_RANGE,
                "layer must be from 0 to 0, but is 1");
  expect_throws(
      [&] { attention(cache.cache, int64_t{0}, kScale, small, out); }, OPD_INVALID_ARGUMENT,
      "qkv must be a compact float32 tensor of at least 1 rows, 4 heads, size 2, but is float32[1, 1, 2] on cpu:0");
  expect_throws([&] { attention(cache.cache, int64_t{0}, kScale, qkv, small); }, OPD_INVALID_ARGUMENT,
                "the output must be a compact float32");
  expect_throws([&] { attention(3, int64_t{0}, kScale, qkv, out); }, OPD_INVALID_ARGUMENT,
                "kv_cache must be opdyno.vm.PagedKVCache");
  state("end_forward")(cache.cache);
  expect_throws([&] { attention(cache.cache, int64_t{0}, kScale, qkv, out); }, OPD_INVALID_ARGUMENT,
                "call vm.builtin.kv_state_begin_forward first");
  expect_throws([&] { state("clear")(3); }, OPD_INVALID_ARGUMENT, "state must be a paged KV cache or an RNN state");
  expect_throws([&] { state("begin_forward")(cache.cache, 3, shape_of({1})); }, OPD_INVALID_ARGUMENT,
                "seq_ids must be a shape or an array of integers");
}

TEST(PagedKvCache, SequencesWithAWindowRefuseWhatTheyCannotDo) {
  Sizes sizes;
  sizes.windows = 1;
  Checked cache(sizes);
  cache.add(0);
  expect_throws([&] { cache.window(0, 0, 0); }, OPD_INVALID_ARGUMENT, "must have at least 1 row, but is 0");
  expect_throws([&] { cache.window(0, 4, 4); }, OPD_INVALID_ARGUMENT,
                "the attention sink of sequence 0 must be from 0 to 3, the window less one, but is 4");
  expect_throws([&] { cache.window(0, 4, -1); }, OPD_INVALID_ARGUMENT, "but is -1");
  cache.window(0, 8, 2);
  expect_throws([&] { cache.window(0, 8, 2); }, OPD_INVALID_ARGUMENT, "has a sliding window already, of 8 rows");
  cache.run({0}, {20});
  expect_throws([&] { cache.fork(0, 1, 3); }, OPD_INVALID_ARGUMENT,
                "keeps its first 2 rows; fork_pos must be within them, but is 3");
  expect_throws([&] { cache.run({0}, {1}, {{-1}}); }, OPD_INVALID_ARGUMENT, "can have no token tree");
  cache.fork(0, 1, 2);
  cache.run({1, 0}, {3, 3});
  cache.add(2), cache.run({2}, {40}), cache.fork(2, 3, 32);
  expect_throws([&] { cache.window(3, 32, 0); }, OPD_INVALID_ARGUMENT,
                "must have more than the 32 rows that it shares");
  cache.expect_rows();
}

TEST(PagedKvCache, SizesAndKernelsThatMakeNoCacheAreRefused) {
  const auto refused = [](const std::function<void(std::vector<Value> &)> &change, opd_code code,
                          const std::string &why) { expect_throws([&] { make_cache(Sizes{}, change); }, code, why); };
  const auto number = [](int64_t x) { return Value::retain(arg(x)); };
  refused([](auto &a) { a.pop_back(); }, OPD_INVALID_ARGUMENT, "expected 28 arguments, but got 27");
  refused(
      [](auto &a) {
        a[0] = shape_of({4, 256, 64, 16});
      },
      OPD_INVALID_ARGUMENT, "argument 0 must hold 5 or 6 sizes");
  for (size_t i = 0; i < 4; ++i)
    for (const int64_t size : {int64_t{0}, int64_t{-1}, INT64_MAX})
      refused(
          [&](auto &a) {
            std::vector<int64_t> sizes{4, 256, 64, 16, 0};
            sizes[i] = size;
            a[0] = shape_of(sizes);
          },
          OPD_OUT_OF_RANGE, "of the cache must be from 1 to");
  refused(
      [](auto &a) {
        a[0] = shape_of({4, 256, 64, 8, 0});
      },
      OPD_INVALID_ARGUMENT, "the program's kernels do not fit a cache with pages of 8 rows");
  refused(
      [](auto &a) {
        a[0] = shape_of({4, 256, 64, 16, 2});
      },
      OPD_INVALID_ARGUMENT, "support_sliding_window must be 0 or 1");
  refused([](auto &a) { a[1] = shape_of({0, 1, 2}); }, OPD_INVALID_ARGUMENT, "the layer partition");
  refused(
      [](auto &a) {
        a[1] = shape_of({0, 2});
      },
      OPD_INVALID_ARGUMENT, "a kind of attention for each of the 2 layers, but holds 1");
  refused([&](auto &a) { a[3] = number(3); }, OPD_INVALID_ARGUMENT,
          "num_qo_heads must be a multiple of num_kv_heads, 3, but is 2");
  refused([](auto &a) { a[6] = shape_of({2}); }, OPD_INVALID_ARGUMENT, "must be 0 (MHA), 1 (MLA) or 3");
  refused([&](auto &a) { a[7] = number(1); }, OPD_UNSUPPORTED, "the transfer of caches between machines");
  refused([&](auto &a) { a[8] = number(3); }, OPD_INVALID_ARGUMENT, "rope_mode must be");
  refused([](auto &a) { a[11] = Value::retain(arg(floats({1}))); }, OPD_INVALID_ARGUMENT, "rope_ext_factors");
  refused([&](auto &a) { a[13] = number(1); }, OPD_INVALID_ARGUMENT, "argument 13 must be");
  refused([&](auto &a) { a[15] = tuple_of("flashinfer", number(1), number(2)); }, OPD_UNSUPPORTED,
          "argument 15 brings kernels of the kind \"flashinfer\"");
  refused([](auto &a) { a[23] = tuple_of(); }, OPD_INVALID_ARGUMENT, "the kernel that merges attention, but is empty");
  const Value cache = make_cache(Sizes{}, [](auto &a) { a[17] = tuple_of(); });
  state("add_sequence")(cache, 0);
  state("begin_forward")(cache, shape_of({0}), shape_of({1}));
  expect_throws(
      [&] {
        cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, Tensor({1, 4, 2}, "float32"),
                                                   Tensor({1, 2, 2}, "float32"));
      },
      OPD_UNSUPPORTED, "the program gave its cache no kernel for the decoding of single rows");
}

TEST(PagedKvCache, AnotherThreadAmidAPassIsRefusedAndTwoCachesWorkBesideEachOther) {
  Sizes sizes;
  std::string told;
  Value cache = make_cache(sizes, [&](auto &a) {
    a[24] = Value::retain(arg(make_function([&](const opd_value *args, int32_t n, opd_value *out) {
      split_rotary(args, n, out);
      std::thread([&] {
        try {
          state("add_sequence")(cache, 1);
        } catch (const Error &e) { told = e.message(); }
      }).join();
    })));
  });
  state("add_sequence")(cache, 0);
  state("begin_forward")(cache, shape_of({0}), shape_of({1}));
  cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, Tensor({1, 4, 2}, "float32"),
                                             Tensor({1, 2, 2}, "float32"));
  EXPECT_NE(told.find("another call uses the opdyno.vm.PagedKVCache now"), std::string::npos) << told;
}

TEST(PagedKvCache, ASequenceLeavesAndComesBackByACheckpoint) {
  Checked from(Sizes{}), to(Sizes{}, 2);
  from.add(3), from.add(4);
  from.run({3, 4}, {37, 5});
  from.fork(3, 5, 33), from.remove(3), from.run({5}, {4});  // its pages are not in order
  const std::string metadata = text_of(cache_function("get_checkpoint_metadata")(from.cache, 5));
  EXPECT_NE(
      metadata.find(
          "\"seq_id\":5,\"seq_length\":37,\"logical_pages\":[{\"logical_page_index\":0,\"start_pos\":0,\"length\":16}"),
      std::string::npos)
      << metadata;
  EXPECT_NE(metadata.find("\"shape\":[1,3,2,1,16,2],\"nbytes\":768"), std::string::npos) << metadata;
  Tensor pages = floats(std::vector<float>(192, 9), {1, 3, 2, 1, 16, 2});
  cache_function("export_page_group")(from.cache, 5, 0, pages);
  EXPECT_EQ(pages.data<float>()[2 * 64 + 5 * 2], 0) << "row 37 is not of the sequence";
  to.add(5), to.run({5}, {60}), to.add(1), to.run({1}, {3});
  const auto import = [&](const std::string &text) { cache_function("prepare_import")(to.cache, 5, text); };
  const auto changed = [&](const std::string &old, const std::string &now) {
    std::string text = metadata;
    return text.replace(text.find(old), old.size(), now);
  };
  expect_throws([&] { import("{"); }, OPD_BAD_FORMAT, "the checkpoint's metadata");
  expect_throws([&] { import("[]"); }, OPD_BAD_FORMAT, "is not an object");
  expect_throws([&] { import("{}"); }, OPD_BAD_FORMAT, "has no \"format_version\"");
  expect_throws([&] { import(changed("\"format_version\":1", "\"format_version\":2")); }, OPD_INVALID_ARGUMENT,
                "must be of version 1, but is of 2");
  expect_throws([&] { import(changed("layout_hash\":\"", "layout_hash\":\"0")); }, OPD_INVALID_ARGUMENT,
                "a cache with another layout");
  expect_throws([&] { import(changed("\"seq_id\":5", "\"seq_id\":6")); }, OPD_INVALID_ARGUMENT,
                "is of sequence 6, but sequence 5");
  for (const char *length : {"-1", "1000000000", "9223372036854775807"})
    expect_throws([&] { import(changed("\"seq_length\":37", std::string("\"seq_length\":") + length)); },
                  OPD_OUT_OF_RANGE, "seq_length of the checkpoint must be from 0 to");
  expect_throws([&] { import(changed("\"seq_length\":37", "\"seq_length\":\"x\"")); }, OPD_BAD_FORMAT,
                "has a \"seq_length\" that is no integer");
  expect_throws([&] { import(changed("\"seq_length\":37", "\"seq_length\":49")); }, OPD_BAD_FORMAT,
                "has a \"logical_pages\" that is no list of 4 items");
  to.expect_rows();
  import(metadata);
  expect_throws([&] { to.run({5}, {1}); }, OPD_FAILED_PRECONDITION,
                "sequence 5 is being imported; call finish_import first");
  expect_throws([&] { cache_function("finish_import")(to.cache, 5); }, OPD_FAILED_PRECONDITION,
                "group 0 of sequence 5 is yet to be imported");
  expect_throws([&] { cache_function("import_page_group")(to.cache, 5, 1, pages); }, OPD_OUT_OF_RANGE,
                "group_id must be from 0 to 0, but is 1");
  expect_throws([&] { cache_function("import_page_group")(to.cache, 5, 0, floats({1})); }, OPD_INVALID_ARGUMENT,
                "must be compact, of float32[1, 3, 2, 1, 16, 2], but is float32[1]");
  cache_function("import_page_group")(to.cache, 5, 0, pages);
  expect_throws([&] { cache_function("import_page_group")(to.cache, 5, 0, pages); }, OPD_INVALID_ARGUMENT,
                "was imported already");
  cache_function("finish_import")(to.cache, 5);
  expect_throws([&] { cache_function("finish_import")(to.cache, 5); }, OPD_FAILED_PRECONDITION,
                "no import of sequence 5 was prepared");
  to.sequences[5].rows = from.sequences.at(5).rows;
  to.expect_rows();
  to.run({5, 1}, {2, 1});
  to.expect_rows();
}

TEST(PagedKvCache, CheckpointsAreRefusedOfCachesWhoseRowsMeanNothingElsewhere) {
  Sizes windows, layer;
  windows.windows = 1, layer.kinds = {3};
  expect_throws([&] { cache_function("get_layout_hash")(make_cache(windows)); }, OPD_UNSUPPORTED,
                "but this one supports sliding windows");
  expect_throws([&] { cache_function("get_layout_hash")(make_cache(layer)); }, OPD_UNSUPPORTED,
                "has layers with windows");
  Sizes one, other;
  other.max_total = 64, other.max_batch = 1;
  EXPECT_EQ(cache_function("get_layout_hash")(make_cache(one)).to_string(),
            cache_function("get_layout_hash")(make_cache(other)).to_string())
      << "how much a cache holds is not of its layout";
}

// MLA: a row is one vector, which is the key, and whose beginning is the value.
TEST(PagedKvCache, LayersOfMlaKeepOneVectorForEachToken) {
  const auto row_place = [](const opd_value &pages, int64_t place) { return elements(pages) + place * kDim; };
  const auto append_latent = [&](const opd_value *a, int32_t n, opd_value *) {
    require_count(n, 3);
    for (int64_t i = 0; i < dl(a[2]).shape[0]; ++i)
      std::copy_n(elements(a[1]) + i * kDim, kDim, row_place(a[0], ints(a[2])[i]));
  };
  const auto attend_latent = [&](const opd_value *a, int32_t n, opd_value *) {
    require_count(n, 10);
    for (int64_t c = 0; c + 1 < dl(a[1]).shape[0]; ++c) {
      const int64_t pages = ints(a[3])[c + 1] - ints(a[3])[c],
                    count = pages == 0 ? 0 : (pages - 1) * kPageSize + ints(a[5])[c];
      std::vector<Row> rows;
      for (int64_t r = 0; r < count; ++r) {
        Row row;
        std::copy_n(row_place(a[2], ints(a[4])[ints(a[3])[c] + r / kPageSize] * kPageSize + r % kPageSize), kDim,
                    row.k.begin());
        row.v = row.k;
        rows.push_back(row);
      }
      for (int64_t i = ints(a[1])[c]; i < ints(a[1])[c + 1]; ++i) write_attention(a[0], i, rows, a[6], a[7]);
    }
  };
  const auto read_latent = [&](const opd_value *a, int32_t n, opd_value *) {
    require_count(n, 4);
    for (int64_t i = 0; i < dl(a[1]).shape[0]; ++i)
      std::copy_n(row_place(a[0], ints(a[1])[i]), kDim, elements(a[2]) + i * kDim);
  };
  int merges = 0;
  Sizes sizes;
  sizes.kinds = {1};
  const Value cache = make_cache(sizes, [&](auto &a) {
    const auto kernel = [](Body body) { return Value::retain(arg(make_function(std::move(body)))); };
    a[14] = kernel(append_latent);
    a[22] = tuple_of("tir", kernel(attend_latent));
    a[23] = tuple_of(kernel(merge),
                     kernel([&](const opd_value *args, int32_t n, opd_value *out) { ++merges, merge(args, n, out); }));
    a[26] = kernel(read_latent);
  });
  state("add_sequence")(cache, 0);
  std::vector<Row> rows;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> numbers(-2, 2);
  for (const int64_t count : {20, 1, 3}) {
    state("begin_forward")(cache, shape_of({0}), shape_of({count}));
    Tensor latent({count, kDim}, "float32"), q({count, kHeads, kDim}, "float32"), out({count, kHeads, kDim}, "float32"),
        lse({count, kHeads}, "float32");
    for (int64_t i = 0; i < count * kDim; ++i) latent.data<float>()[i] = numbers(random);
    for (int64_t i = 0; i < count * kHeads * kDim; ++i) q.data<float>()[i] = numbers(random);
    const Value same = cache_function("append_mla_kv")(cache, int64_t{0}, latent);
    EXPECT_EQ(same.view().u.object, cache.view().u.object);
    cache_function("cross_attention")(cache, int64_t{0}, kScale, q, out, lse);
    // One new row is in the pages already; of more, the pages hold what was before.
    std::vector<Row> seen = rows;
    for (int64_t i = 0; i < count; ++i) {
      Row row;
      std::copy_n(latent.data<float>() + i * kDim, kDim, row.k.begin());
      row.v = row.k;
      rows.push_back(row);
    }
    if (count == 1) seen = rows;
    EXPECT_NEAR(out.data<float>()[1], attend(q.data<float>(), seen).first[1], 1e-4) << count;
    state("end_forward")(cache);
  }
  cache_function("merge_attn_output_inplace")(cache, floats({1, 2, 3, 4}, {1, 2, 2}), floats({0, 0}, {1, 2}),
                                              floats({1, 2, 3, 4}, {1, 2, 2}), floats({0, 0}, {1, 2}));
  EXPECT_EQ(merges, 1) << "the second kernel merges what a program merges itself";
  Tensor kept({1, 24, kDim}, "float32");
  cache_function("debug_get_kv_mla")(cache, 0, 0, 24, kept);
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(kept.data<float>()[i * kDim], rows[i].k[0]) << i;
  Tensor qkv({1, kHeads + 2, kDim}, "float32"), out({1, kHeads, kDim}, "float32");
  state("begin_forward")(cache, shape_of({0}), shape_of({1}));
  expect_throws([&] { cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, qkv, out); },
                OPD_INVALID_ARGUMENT, "layer 0 has MLA, but the program asks for MHA");
  expect_throws([&] { cache_function("append_mla_kv")(cache, int64_t{0}, qkv); }, OPD_INVALID_ARGUMENT,
                "kv must be a compact float32 tensor");
  state("end_forward")(cache);
  expect_throws([&] { state("begin_forward")(cache, shape_of({0}), shape_of({1}), shape_of({-1})); },
                OPD_INVALID_ARGUMENT, "MHA only");
}
