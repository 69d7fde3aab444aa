// What paged attention caches refuse, and that nothing has changed then.
#include <thread>

#include "support/checked_kv_cache.h"

using namespace opdyno_test;
using namespace opdyno_test::attention;

TEST(PagedKvCache, NamesASequenceThatIsTwiceAmongMany) {
  Sizes sizes;
  sizes.max_batch = 100, sizes.max_total = 2048;
  const Value cache = make_cache(sizes);
  const KvState state(cache);
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < 64; ++id) state.add(id), ids.push_back(63 - id);
  ids[60] = 17;
  expect_throws([&] { state.begin(ids, std::vector<int64_t>(64, 1)); }, OPD_INVALID_ARGUMENT,
                "sequence 17 is named twice");
  ids[60] = 3;
  state.begin(ids, std::vector<int64_t>(64, 1));
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
  expect_throws(begin({0}, {0}), OPD_INVALID_ARGUMENT, "append_lengths must be at least 1, but is 0 for sequence 0");
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
  expect_throws([&] { cache.commit({0}, {-2}); }, OPD_INVALID_ARGUMENT,
                "leaf_indices must be at least -1, but is -2 for sequence 0");
  expect_throws([&] { cache.fork(0, 1, 2); }, OPD_INVALID_ARGUMENT, "has a token tree; commit one of its paths");
  expect_throws([&] { state("begin_forward")(cache.cache, shape_of({0}), shape_of({1})); }, OPD_INVALID_ARGUMENT,
                "commit one of its paths");
  cache.commit({0}, {-1});
  cache.expect_rows();
  state("begin_forward")(cache.cache, shape_of({0}), shape_of({1}));
  expect_throws([&] { state("begin_forward")(cache.cache, shape_of({0}), shape_of({1})); }, OPD_FAILED_PRECONDITION,
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
  expect_throws([&] { state("begin_forward")(cache.cache, shape_of({0}), shape_of({1}), nullptr, 1); },
                OPD_INVALID_ARGUMENT, "(state, seq_ids, append_lengths [, token_tree_parent])");
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
