// The paged attention cache, with kernels of the test, against a list of the rows that each sequence should have.
#include <unistd.h>

#include <fstream>
#include <thread>

#include "support/kv_cache_work.h"

using namespace opdyno_test;
using namespace opdyno_test::attention;

namespace {

uint32_t num_seeds() { return std::getenv("OPDYNO_TEST_FULL") ? 40 : 4; }

}  // namespace

TEST(PagedKvCache, KeepsTheRowsOfSequencesUnderRandomOperations) {
  for (uint32_t seed = 1; seed <= num_seeds(); ++seed) work_at_random(With::kNothing, seed, 300);
}

TEST(PagedKvCache, KeepsTheFirstAndTheLatestRowsOfSequencesWithAWindow) {
  // 10,200 operations in each build: additions, forks, passes, and all that removes rows.
  for (uint32_t seed = 1; seed <= std::max(num_seeds(), 34U); ++seed) work_at_random(With::kWindows, seed, 300);
}

TEST(PagedKvCache, ComputesTreesOfTokensAndKeepsThePathsThatAreCommitted) {
  for (uint32_t seed = 1; seed <= num_seeds(); ++seed) work_at_random(With::kTrees, seed, 200);
}

TEST(PagedKvCache, IsWorkedOnByManyThreadsWithACacheEach) {
  std::vector<std::thread> threads;
  for (const With with : {With::kNothing, With::kWindows, With::kTrees})
    for (uint32_t seed = 91; seed < 93; ++seed) threads.emplace_back([=] { work_at_random(with, seed, 100); });
  for (std::thread &thread : threads) thread.join();
}

// TVM's caches reserve 256 MB of addresses each for their tables.
TEST(PagedKvCache, HasTablesOfTheSizeOfTheirContents) {
  const auto reserved = [] {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * sysconf(_SC_PAGESIZE);
  };
  Sizes sizes;
  sizes.windows = 1;
  std::vector<std::unique_ptr<Checked>> caches;
  const int64_t before = reserved();
  ASSERT_GT(before, 0);
  for (int i = 0; i < 8; ++i) {
    Checked &cache = *caches.emplace_back(std::make_unique<Checked>(sizes));
    cache.add(0), cache.add(1), cache.run({0, 1}, {20, 30}), cache.fork(0, 2, 17), cache.run({0, 2}, {1, 1});
  }
  EXPECT_LT(reserved() - before, int64_t{128} << 20);
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

TEST(PagedKvCache, ReturnsThePositionsOfTheNewRows) {
  Checked cache(Sizes{});
  cache.add(5), cache.add(6);
  cache.run({5}, {3});
  state("begin_forward")(cache.cache, tuple_of(6, 5), tuple_of(2, 1));  // lists, as Python gives them
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

namespace {

// What kernels were told besides the rows: positions of queries and of the rows in pages, and how to rotate them.
struct Told {
  std::string kernel;
  std::vector<int32_t> queries, rows;
  std::vector<double> rotation;  // whether, scale, theta, scale of the products
  bool operator==(const Told &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Told &told) {
  out << told.kernel << ": queries";
  for (const int32_t x : told.queries) out << ' ' << x;
  out << "; rows";
  for (const int32_t x : told.rows) out << ' ' << x;
  out << "; rotation";
  for (const double x : told.rotation) out << ' ' << x;
  return out;
}

class ToldKernels : public testing::Test {
 protected:
  std::vector<Told> told;
  std::vector<int64_t> split;  // whether the kernel that splits rows rotates them

  Value make(const Sizes &sizes, int64_t rope) {
    const auto list = [](const opd_value &v) { return std::vector<int32_t>(ints(v), ints(v) + dl(v).shape[0]); };
    const auto kernel = [&](const char *name, Body body, size_t queries, int rows, size_t rotary) {
      return tuple_of("tirx", make_function([=, this](const opd_value *a, int32_t n, opd_value *out) {
                        body(a, n, out);
                        told.push_back({name,
                                        list(a[queries]),
                                        rows < 0 ? std::vector<int32_t>() : list(a[rows]),
                                        {static_cast<double>(a[rotary].u.int64), a[rotary + 1].u.float64,
                                         a[rotary + 2].u.float64, a[rotary + 3].u.float64}});
                      }));
    };
    return make_cache(sizes, [&](auto &a) {
      a[8] = Value::retain(arg(rope)), a[9] = Value::retain(arg(0.25)), a[10] = Value::retain(arg(5000.0));
      a[15] = kernel("ragged", ragged, 5, 6, 10);
      a[16] = kernel("prefill", prefill("prefill"), 7, 6, 11);
      a[17] = kernel("decode", decode("decode"), 6, 5, 9);
      a[18] = kernel("prefill_window", prefill("prefill_window"), 7, 6, 11);
      a[19] = kernel("decode_window", decode("decode_window"), 6, 5, 9);
      a[20] = kernel("prefill_tree", prefill_tree, 7, 6, 10);
      a[21] = kernel("ragged_tree", ragged_tree, 5, -1, 10);
      a[24] = Value::retain(arg(make_function([this](const opd_value *args, int32_t n, opd_value *out) {
        split_rotary(args, n, out);
        split.push_back(args[5].u.int64);
      })));
    });
  }
  std::vector<Told> pass(const Value &cache, const std::vector<int64_t> &ids, const std::vector<int64_t> &counts,
                         const std::vector<int64_t> &parents = {}) {
    told.clear();
    if (parents.empty()) state("begin_forward")(cache, shape_of(ids), shape_of(counts));
    else state("begin_forward")(cache, shape_of(ids), shape_of(counts), shape_of(parents));
    int64_t rows = 0;
    for (const int64_t count : counts) rows += count;
    Tensor qkv({rows, kHeads + 2, kDim}, "float32"), out({rows, kHeads, kDim}, "float32");
    std::fill_n(qkv.data<float>(), qkv.size(), 0.F);
    cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, qkv, out);
    state("end_forward")(cache);
    return told;
  }
};

}  // namespace

TEST_F(ToldKernels, GetThePositionsOfQueriesAndRows) {
  const Value cache = make(Sizes{}, 0);
  const std::vector<double> plain{0, 0.25, 5000, kScale};
  state("add_sequence")(cache, 0);
  pass(cache, {0}, {40});
  state("fork_sequence")(cache, 0, 1, 32);  // two pages are shared
  EXPECT_EQ(pass(cache, {0, 1}, {1, 1}),
            (std::vector<Told>{{"decode", {40, 32}, {0, 0}, plain}, {"decode", {40, 32}, {32, 32}, plain}}));
  EXPECT_EQ(pass(cache, {1, 0}, {3, 2}), (std::vector<Told>{{"ragged", {33, 34, 35, 41, 42}, {33, 41}, plain},
                                                            {"prefill", {33, 34, 35, 41, 42}, {0}, plain},
                                                            {"prefill", {33, 34, 35, 41, 42}, {32, 32}, plain}}));
  EXPECT_EQ(pass(cache, {1}, {3}, {-1, 0, 0}), (std::vector<Told>{{"ragged_tree", {36, 37, 37}, {}, plain},
                                                                  {"prefill", {36, 37, 37}, {0}, plain},
                                                                  {"prefill", {36, 37, 37}, {32}, plain}}));
  EXPECT_EQ(pass(cache, {1}, {2}, {1, 2}),
            (std::vector<Told>{{"prefill", {38, 38}, {0}, plain}, {"prefill_tree", {38, 38}, {32}, plain}}));
}

TEST_F(ToldKernels, GetThePositionsInALayerWithAWindow) {
  Sizes sizes;
  sizes.kinds = {3}, sizes.layer_window = 20, sizes.windows = 1;
  const Value cache = make(sizes, 1);
  const std::vector<double> own{0, 1, 10000, kScale};  // as TVM computes these layers, whatever the cache has
  state("add_sequence")(cache, 0);
  EXPECT_EQ(pass(cache, {0}, {20}).size(), 1U);
  EXPECT_EQ(pass(cache, {0}, {1}), (std::vector<Told>{{"decode_window", {20}, {1}, own}}));
  EXPECT_EQ(pass(cache, {0}, {24}).size(), 2U);
  EXPECT_EQ(pass(cache, {0}, {2}),  // of 45 rows, the window sees the last 20
            (std::vector<Told>{{"ragged", {45, 46}, {45}, own}, {"prefill_window", {45, 46}, {25}, own}}));
  EXPECT_EQ(split, (std::vector<int64_t>{1, 1, 1, 1})) << "rows are rotated before they are stored";
}

TEST_F(ToldKernels, GetTheModeOfRotation) {
  // Rows that move cannot be rotated when they are stored: with windows of sequences, the kernels do it.
  for (const auto &[rope, windows, splits, kernels] :
       {std::array<int64_t, 4>{0, 0, 0, 0}, {1, 0, 1, 0}, {2, 0, 0, 1}, {0, 1, 0, 0}, {1, 1, 0, 1}, {2, 1, 0, 1}}) {
    Sizes sizes;
    sizes.windows = windows;
    const Value cache = make(sizes, rope);
    state("add_sequence")(cache, 0);
    split.clear();
    const std::vector<Told> first = pass(cache, {0}, {2});
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0], (Told{"ragged", {0, 1}, {0}, {static_cast<double>(kernels), 0.25, 5000, kScale}}));
    EXPECT_EQ(split, (std::vector<int64_t>{splits})) << rope << " " << windows;
  }
}

TEST(PagedKvCache, GivesExtensionFactorsToTheKernelThatRotates) {
  std::vector<float> factors;
  const Value cache = make_cache(Sizes{}, [&](auto &a) {
    a[8] = Value::retain(arg(int64_t{1}));
    a[11] = Value::retain(arg(floats({0.5, 3})));
    a[24] = Value::retain(arg(make_function([&](const opd_value *args, int32_t n, opd_value *out) {
      split_rotary(args, n, out);
      factors = elements_of<float>(Tensor::of(args[5]));
    })));
  });
  state("add_sequence")(cache, 0);
  state("begin_forward")(cache, shape_of({0}), shape_of({1}));
  const Tensor qkv({1, kHeads + 2, kDim}, "float32"), out({1, kHeads, kDim}, "float32");
  std::fill_n(qkv.data<float>(), qkv.size(), 0.F);
  cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, qkv, out);
  EXPECT_EQ(factors, (std::vector<float>{0.5, 3}));
}

TEST(PagedKvCache, HasSparePagesForSequencesWithWindows) {
  Sizes sizes;
  EXPECT_EQ(KvState(make_cache(sizes)).stats().num_pages, 17);  // 256 / 16, and one for rows in progress
  sizes.windows = 1;
  EXPECT_EQ(KvState(make_cache(sizes)).stats().num_pages, 17 + 2 * 4);
  sizes.kinds = {3};  // its own windows take the place of those of sequences
  EXPECT_EQ(KvState(make_cache(sizes)).stats().num_pages, 17);
}
