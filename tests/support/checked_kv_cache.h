// A paged attention cache with the kernels of attention_kernels.h, beside a list of the rows that each sequence should
// have.
#pragma once
#include <map>
#include <random>

#include "support/attention_kernels.h"

namespace opdyno_test::attention {

inline Function state(const std::string &name) { return Function::global(("vm.builtin.kv_state_" + name).c_str()); }
inline Function cache_function(const std::string &name) {
  return Function::global(("vm.builtin.attention_kv_cache_" + name).c_str());
}

inline std::string text_of(const Value &value) {
  const char *data = nullptr;
  size_t size = 0;
  check(opd_string_get(&value.view(), &data, &size));
  return {data, size};
}

// A cache and what it should hold.
class Checked {
 public:
  explicit Checked(const Sizes &sizes, uint32_t seed = 1)
      : cache(make_cache(sizes)), typed(cache), sizes_(sizes), random(seed) {}

  struct Sequence {
    std::vector<Row> rows;
    int64_t window = 0, sink = 0;
    std::vector<Row> nodes;  // of the tree that is not committed yet
    std::vector<int64_t> parents;
  };
  Value cache;
  KvState typed;
  bool is_typed = false;  // the functions of kv_state.h are called, instead of the global ones
  std::map<int64_t, Sequence> sequences;

  int64_t below(int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); }
  void add(int64_t id) {
    if (is_typed) typed.add(id);
    else state("add_sequence")(cache, id);
    sequences[id];
  }
  void remove(int64_t id) {
    if (is_typed) typed.remove(id);
    else state("remove_sequence")(cache, id);
    sequences.erase(id);
  }
  void fork(int64_t parent, int64_t child, int64_t position) {
    if (is_typed) typed.fork(parent, child, position);
    else state("fork_sequence")(cache, parent, child, position);
    const auto &rows = sequences.at(parent).rows;
    sequences[child].rows.assign(rows.begin(), position < 0 ? rows.end() : rows.begin() + position);
  }
  void pop(int64_t id, int64_t n) {
    if (is_typed) typed.pop(id, n);
    else state("popn")(cache, id, n);
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
    begin(ids, counts, parents);
    int64_t total = 0;
    for (const int64_t count : counts) total += count;
    const Tensor qkv({total, kHeads + 2, kDim}, "float32"), attended({total, kHeads, kDim}, "float32", sizes_.device);
    std::uniform_real_distribution<float> numbers(-2, 2);
    for (int64_t i = 0; i < total * (kHeads + 2) * kDim; ++i) qkv.data<float>()[i] = numbers(random);
    cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, moved(qkv, sizes_.device), attended);
    const Tensor out = moved(attended, {kDLCPU, 0});
    int64_t row = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      compare(sequences.at(ids[i]), counts[i], parents.empty() ? nullptr : &parents[i], qkv, out, row);
      row += counts[i];
    }
    if (is_typed) typed.end();
    else state("end_forward")(cache);
  }

  // A pass whose tokens are taken back.
  void run_in_vain(const std::vector<int64_t> &ids, const std::vector<int64_t> &counts,
                   const std::vector<std::vector<int64_t>> &parents = {}) {
    begin(ids, counts, parents);
    typed.end(false);
    for (size_t i = 0; i < ids.size(); ++i) {  // but a window has slid
      Sequence &sequence = sequences.at(ids[i]);
      const auto length = static_cast<int64_t>(sequence.rows.size()) + counts[i];
      if (sequence.window == 0 || length <= sequence.window) continue;
      const auto gone = std::min(length - sequence.window, static_cast<int64_t>(sequence.rows.size()) - sequence.sink);
      if (gone > 0)
        sequence.rows.erase(sequence.rows.begin() + sequence.sink, sequence.rows.begin() + sequence.sink + gone);
    }
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
      const std::vector<int64_t> dims{sizes_.layers, length, 1, kDim};
      const Tensor keys(dims, "float32", sizes_.device), values(dims, "float32", sizes_.device);
      cache_function("debug_get_kv")(cache, id, int64_t{0}, length, keys, values);
      const Tensor k = moved(keys, {kDLCPU, 0}), v = moved(values, {kDLCPU, 0});
      for (size_t i = 0; i < sequence.rows.size(); ++i) {
        ASSERT_EQ(std::vector<float>(k.data<float>() + i * kDim, k.data<float>() + (i + 1) * kDim),
                  std::vector<float>(sequence.rows[i].k.begin(), sequence.rows[i].k.end()))
            << "row " << i << " of " << id;
        ASSERT_EQ(v.data<float>()[i * kDim], sequence.rows[i].v[0]);
      }
    }
    EXPECT_EQ(cache_function("get_total_sequence_length")(cache).view().u.int64, total);
    std::map<int64_t, int64_t> lengths;
    for (const auto &[id, sequence] : sequences)
      lengths[id] = static_cast<int64_t>(sequence.rows.size() + sequence.nodes.size());
    EXPECT_EQ(typed.lengths(), lengths);
    const opd_kv_stats stats = typed.stats();
    EXPECT_EQ(stats.num_tokens, total);
    EXPECT_EQ(stats.num_sequences, static_cast<int64_t>(sequences.size()));
    EXPECT_EQ(stats.free_pages, free_pages());
  }
  int64_t free_pages() { return cache_function("get_num_available_pages")(cache).view().u.int64; }

 private:
  void begin(const std::vector<int64_t> &ids, const std::vector<int64_t> &counts,
             const std::vector<std::vector<int64_t>> &parents) {
    std::vector<int64_t> all;
    for (const auto &each : parents) all.insert(all.end(), each.begin(), each.end());
    if (is_typed) typed.begin(ids, counts, all);
    else if (parents.empty()) state("begin_forward")(cache, shape_of(ids), shape_of(counts));
    else state("begin_forward")(cache, shape_of(ids), shape_of(counts), shape_of(all));
  }
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

}  // namespace opdyno_test::attention
