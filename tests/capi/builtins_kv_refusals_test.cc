// What paged attention caches refuse, and that nothing has changed then.
#include <cmath>
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

TEST(PagedKvCache, SequencesWithAWindowRefuseBadSizesAndForks) {
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

TEST(PagedKvCache, InvalidSizesAndKernelsAreRefused) {
  const auto refused = [](const std::function<void(std::vector<Value> &)> &change, opd_code code,
                          const std::string &why) { expect_throws([&] { make_cache(Sizes{}, change); }, code, why); };
  const auto number = [](int64_t x) { return Value::retain(arg(x)); };
  refused([](auto &a) { a.pop_back(); }, OPD_INVALID_ARGUMENT, "expected 28 arguments, but got 27");
  refused([](auto &a) { a.resize(30); }, OPD_INVALID_ARGUMENT, "expected 28 arguments, but got 30");
  make_cache(Sizes{}, [](auto &a) { a.resize(29); });  // the 29th is of a mode that TVM no longer has
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
      OPD_UNSUPPORTED, "the program passed its cache no kernel for the decoding of single rows");
}

TEST(PagedKvCache, RefusesOtherThreadsDuringAPass) {
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

TEST(PagedKvCache, EachSizeIsNamedWithItsLimits) {
  const auto number = [](int64_t x) { return Value::retain(arg(x)); };
  const auto refused = [](const std::function<void(std::vector<Value> &)> &change, const std::string &what,
                          int64_t least, int64_t given) {
    expect_throws([&] { make_cache(Sizes{}, change); }, OPD_OUT_OF_RANGE,
                  what + " of the cache must be from " + std::to_string(least) + " to 2147483647, but is " +
                      std::to_string(given));
  };
  constexpr int64_t kMost = INT32_MAX;
  for (const int64_t given : {int64_t{0}, kMost + 1}) {
    const char *const sizes[] = {"max_batch", "max_total_seq_len", "prefill_chunk_size", "page_size"};
    for (size_t i = 0; i < 4; ++i)
      refused(
          [&](auto &a) {
            std::vector<int64_t> all{4, 256, 64, 16, 0};
            all[i] = given;
            a[0] = shape_of(all);
          },
          sizes[i], 1, given);
    const char *const heads[] = {"num_qo_heads", "num_kv_heads", "qk_head_dim", "v_head_dim"};
    for (size_t i = 0; i < 4; ++i) refused([&](auto &a) { a[2 + i] = number(given); }, heads[i], 1, given);
    refused([&](auto &a) { a[0] = shape_of({4, 256, 64, 16, 0, given}); }, "layer_sliding_window_size", 1, given);
    refused([&](auto &a) { a[1] = shape_of({1, 1 + given}); }, "the number of layers", 1, given);
  }
  for (const int64_t given : {int64_t{-1}, kMost + 1})
    refused([&](auto &a) { a[1] = shape_of({given, given + 1}); }, "the first layer", 0, given);
  refused(  // 2^27 pages of 16 rows, and one more
      [](auto &a) {
        a[0] = shape_of({4, kMost, 64, 16, 0});
      },
      "the number of rows", 1, kMost + 1 + 16);
  EXPECT_NO_THROW(make_cache(Sizes{}, [](auto &a) { a[1] = shape_of({kMost, kMost + 1}); }));
  for (const auto &[place, name] : {std::pair<size_t, std::string>{9, "rope_scale"}, {10, "rope_theta"}})
    for (const double given : {NAN, INFINITY})
      expect_throws([&, place = place] { make_cache(Sizes{}, [&](auto &a) { a[place] = Value::retain(arg(given)); }); },
                    OPD_INVALID_ARGUMENT, name + " must be finite, but is " + (std::isnan(given) ? "nan" : "inf"));
}

TEST(PagedKvCache, InvalidKernelsAreNamedByTheirNumber) {
  const auto number = [](int64_t x) { return Value::retain(arg(x)); };
  const Value kernel = Value::retain(arg(make_function(append)));
  const auto refused = [](size_t place, const Value &given, const std::string &why, opd_code code) {
    expect_throws([&] { make_cache(Sizes{}, [&](auto &a) { a[place] = given; }); }, code,
                  "argument " + std::to_string(place) + why);
  };
  for (size_t place = 13; place < 28; ++place) refused(place, number(1), " must be", OPD_INVALID_ARGUMENT);
  for (size_t place = 15; place < 23; ++place) {
    refused(place, tuple_of("tir", 1), " must be", OPD_INVALID_ARGUMENT);
    refused(place, tuple_of("tir", kernel, kernel), " must be a kind and a kernel, but has 3 items",
            OPD_INVALID_ARGUMENT);
    refused(place, tuple_of("tirx"), " must be a kind and a kernel, but has 1 items", OPD_INVALID_ARGUMENT);
    refused(
        place, tuple_of("flash", kernel),
        " brings kernels of the kind \"flash\", but only those that TVM compiles, \"tirx\" and \"tir\", are offered",
        OPD_UNSUPPORTED);
  }
  refused(23, tuple_of(1), " must be", OPD_INVALID_ARGUMENT);
  refused(23, tuple_of(kernel, 1), " must be", OPD_INVALID_ARGUMENT);
  refused(23, tuple_of(), " must hold the kernel that merges attention, but is empty", OPD_INVALID_ARGUMENT);
}

// The kinds of all layers of a model may be given, or those of the part that the cache is of.
TEST(PagedKvCache, AcceptsOnlyLayersOfItsPartOfTheModel) {
  const auto refused = [](const std::vector<int64_t> &part, const std::vector<int64_t> &kinds, const std::string &why) {
    expect_throws([&] { make_cache(Sizes{}, [&](auto &a) { a[1] = shape_of(part), a[6] = shape_of(kinds); }); },
                  OPD_INVALID_ARGUMENT, why);
  };
  refused({1, 3}, {0}, "argument 6 must hold a kind of attention for each of the 2 layers, but holds 1");
  refused({1, 2}, {0, 2},
          "the kind of attention of layer 1 must be 0 (MHA), 1 (MLA) or 3 (MHA with a window), but is 2");
  refused({1, 2}, {2}, "the kind of attention of layer 1 must be");
  const auto made = [](const std::vector<int64_t> &kinds) {
    const Value cache = make_cache(Sizes{}, [&](auto &a) { a[1] = shape_of({1, 3}), a[6] = shape_of(kinds); });
    state("add_sequence")(cache, 0);
    state("begin_forward")(cache, shape_of({0}), shape_of({1}));
    return cache;
  };
  const auto latent = [](const Value &cache, int64_t layer) {
    return [&cache, layer] { cache_function("append_mla_kv")(cache, layer, Tensor({1, 2}, "float32")); };
  };
  const Value whole = made({1, 0, 1, 1}), part = made({0, 1});  // layers 1 and 2 are of MHA and of MLA in both
  for (const Value &cache : {whole, part}) {
    expect_throws(latent(cache, 0), OPD_OUT_OF_RANGE, "layer must be from 1 to 2, but is 0");
    expect_throws(latent(cache, 1), OPD_INVALID_ARGUMENT, "layer 1 has MHA, but the program asks for MLA");
    expect_throws(latent(cache, 2), OPD_UNSUPPORTED, "the program passed its cache no kernel for new rows of MLA");
    expect_throws(latent(cache, 3), OPD_OUT_OF_RANGE, "layer must be from 1 to 2, but is 3");
  }
}

TEST(PagedKvCache, TensorsOfAPassMustFitItsRowsHeadsAndSizes) {
  Sizes sizes;
  const Value cache = make_cache(sizes, [](auto &a) {
    a[4] = Value::retain(arg(int64_t{3}));  // keys; values are of size 2
    a[12] = Value::retain(arg(Tensor(std::vector<int64_t>{}, "float16")));
  });
  state("add_sequence")(cache, 0);
  state("begin_forward")(cache, shape_of({0}), shape_of({2}));
  using Dims = std::vector<int64_t>;
  const auto tensor = [](const Dims &dims, const char *dtype = "float16") { return Tensor(dims, dtype); };
  const Tensor q = tensor({2, 2, 3}), k = tensor({2, 1, 3}), v = tensor({2, 1, 2}), out = tensor({2, 2, 2}),
               lse = tensor({2, 2}, "float32");
  const auto shared = [&](const Tensor &a, const Tensor &b, const Tensor &c, const Tensor &to) {
    cache_function("attention_with_shared_kv")(cache, int64_t{0}, kScale, a, b, c, to);
  };
  const auto refused = [](const std::function<void()> &call, const std::string &why) {
    expect_throws(call, OPD_INVALID_ARGUMENT, why);
  };
  const std::string wanted = "q must be a compact float16 tensor of at least 2 rows, 2 heads, size 3, but is ";
  refused([&] { shared(tensor({1, 2, 3}), k, v, out); }, wanted + "float16[1, 2, 3]");
  refused([&] { shared(tensor({2, 1, 3}), k, v, out); }, wanted + "float16[2, 1, 3]");
  refused([&] { shared(tensor({2, 2, 2}), k, v, out); }, wanted + "float16[2, 2, 2]");
  refused([&] { shared(tensor({2, 6}), k, v, out); }, wanted + "float16[2, 6]");
  refused([&] { shared(tensor({2, 2, 3}, "float32"), k, v, out); }, wanted + "float32[2, 2, 3]");
  refused([&] { shared(q, q, v, out); },
          "current_k must be a compact float16 tensor of at least 2 rows, 1 heads, size 3");
  refused([&] { shared(q, k, k, out); },
          "current_v must be a compact float16 tensor of at least 2 rows, 1 heads, size 2");
  refused([&] { shared(q, k, v, q); },
          "the output must be a compact float16 tensor of at least 2 rows, 2 heads, size 2");
  const auto fused = [&](const Tensor &qkv, const Tensor &to) {
    cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, qkv, to);
  };
  refused([&] { fused(q, out); }, "qkv must be a compact float16 tensor of at least 2 rows, 4 heads, size 3");
  refused(
      [&] {
        fused(tensor({2, 4, 3}), q);
      },
      "the output must be a compact float16 tensor of at least 2 rows, 2 heads, "
      "size 2");
  const auto cross = [&](const Tensor &a, const Tensor &to, const Tensor &weights) {
    cache_function("cross_attention")(cache, int64_t{0}, kScale, a, to, weights);
  };
  refused([&] { cross(out, out, lse); }, wanted + "float16[2, 2, 2]");
  refused([&] { cross(q, q, lse); }, "the output must be a compact float16 tensor of at least 2 rows, 2 heads, size 2");
  const std::string wanted_lse = "lse must be a compact float32 tensor of at least 2 rows and 2 heads, but is ";
  refused([&] { cross(q, out, tensor({1, 2}, "float32")); }, wanted_lse + "float32[1, 2]");
  refused([&] { cross(q, out, tensor({2, 1}, "float32")); }, wanted_lse + "float32[2, 1]");
  refused([&] { cross(q, out, tensor({2, 2, 1}, "float32")); }, wanted_lse + "float32[2, 2, 1]");
  refused([&] { cross(q, out, tensor({2, 2})); }, wanted_lse + "float16[2, 2]");
  const auto self = [&](const Tensor &a, const Tensor &b, const Tensor &c, const Tensor &to) {
    cache_function("self_attention")(cache, int64_t{0}, kScale, a, b, c, to, lse);
  };
  refused([&] { self(k, k, v, out); }, "q must be a compact float16 tensor of at least 2 rows, 2 heads, but is");
  refused([&] { self(q, lse, v, out); }, "k must be a compact float16 tensor of at least 2 rows, but is float32[2, 2]");
  refused([&] { self(q, k, lse, out); }, "v must be a compact float16 tensor of at least 2 rows, but is float32[2, 2]");
  refused([&] { self(q, k, v, v); }, "the output must be a compact float16 tensor of at least 2 rows, 2 heads, but is");
}

TEST(PagedKvCache, PartsOfAttentionAndPositionsNeedAPass) {
  const Value cache = make_cache(Sizes{}), latent = make_cache([] {
                                             Sizes sizes;
                                             sizes.kinds = {1};
                                             return sizes;
                                           }());
  const Tensor x({1, 2, 2}, "float32"), lse({1, 2}, "float32");
  const auto refused = [](const std::string &what, const std::function<void(const Function &)> &call) {
    expect_throws([&] { call(cache_function(what)); }, OPD_INVALID_ARGUMENT,
                  what + " needs the rows of a pass; call vm.builtin.kv_state_begin_forward first");
  };
  const int64_t layer = 0;
  refused("attention_with_fused_qkv", [&](const Function &f) { f(cache, layer, kScale, x, x); });
  refused("attention_with_shared_kv", [&](const Function &f) { f(cache, layer, kScale, x, x, x, x); });
  refused("self_attention", [&](const Function &f) { f(cache, layer, kScale, x, x, x, x, lse); });
  refused("cross_attention", [&](const Function &f) { f(cache, layer, kScale, x, x, lse); });
  refused("append_mla_kv", [&](const Function &f) { f(latent, layer, lse); });
  refused("get_query_positions", [&](const Function &f) { f(cache); });
}

TEST(PagedKvCache, RowsThatAreReadMustBeThere) {
  Checked cache(Sizes{});
  cache.add(0), cache.run({0}, {5});
  const Tensor k({1, 5, 1, kDim}, "float32"), v({1, 5, 1, kDim}, "float32");
  for (const auto &[begin, end] : {std::pair<int64_t, int64_t>{-1, 2}, {3, 2}, {0, 6}})
    expect_throws([&, begin = begin, end = end] { cache_function("debug_get_kv")(cache.cache, 0, begin, end, k, v); },
                  OPD_OUT_OF_RANGE,
                  "the rows must be from 0 to the 5 of sequence 0, but are from " + std::to_string(begin) + " to " +
                      std::to_string(end));
  k.data<float>()[0] = 77;
  cache_function("debug_get_kv")(cache.cache, 0, 5, 5, k, v);
  EXPECT_EQ(k.data<float>()[0], 77) << "no row was asked for";
  cache_function("debug_get_kv")(cache.cache, 0, 2, 5, k, v);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(k.data<float>()[i * kDim], cache.sequences.at(0).rows[2 + i].k[0]);
}

TEST(PagedKvCache, TreeKernelsAreTriedInBothOrdersOnlyOnce) {
  int pages_calls = 0, new_calls = 0;
  bool fails = true;
  const auto tree = [&](const char *name, int &calls, Body body) {
    return tuple_of("tir", make_function([&, name, body](const opd_value *a, int32_t n, opd_value *out) {
                      ++calls;
                      if (fails) throw std::runtime_error(name + std::string(" failed"));
                      body(a, n, out);
                    }));
  };
  const Value cache = make_cache(Sizes{}, [&](auto &a) {
    a[20] = tree("the kernel for pages", pages_calls, prefill_tree);
    a[21] = tree("the kernel for new rows", new_calls, ragged_tree);
  });
  state("add_sequence")(cache, 0);
  const Tensor qkv({2, kHeads + 2, kDim}, "float32"), out({2, kHeads, kDim}, "float32");
  std::fill_n(qkv.data<float>(), qkv.size(), 1.F);
  const auto pass = [&] {
    state("begin_forward")(cache, shape_of({0}), shape_of({2}), shape_of({-1, -1}));
    cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, qkv, out);
  };
  const auto end = [&] { KvState(cache).end(false); };
  expect_throws(pass, OPD_CALL_FAILED, "the kernel for new rows failed");
  EXPECT_EQ(std::pair(new_calls, pages_calls), std::pair(1, 1));
  end();
  fails = false;
  pass(), end();
  EXPECT_EQ(std::pair(new_calls, pages_calls), std::pair(2, 1));
  fails = true;
  expect_throws(pass, OPD_CALL_FAILED, "the kernel for new rows failed");
  EXPECT_EQ(std::pair(new_calls, pages_calls), std::pair(3, 1)) << "the order is known since a call succeeded";
}
