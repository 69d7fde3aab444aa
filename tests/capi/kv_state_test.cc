// The typed face of KV states. What they do with sequences is tested in builtins_kv_cache_test.cc, by this face, too.
#include <thread>

#include "support/checked_kv_cache.h"

using namespace opdyno_test;
using namespace opdyno_test::attention;

TEST(KvState, IsTheObjectThatTheProgramMade) {
  const Value cache = make_cache(Sizes{});
  const KvState state(cache);
  EXPECT_EQ(static_cast<void *>(state.get()), cache.view().u.object);
  EXPECT_EQ(opd_type_key(opd_object_type(state.get())), std::string("opdyno.vm.PagedKVCache"));
  state.add(3);
  EXPECT_EQ(cache_function("get_sequence_length")(state, int64_t{3}).view().u.int64, 0);
}

TEST(KvState, OtherValuesAreRefused) {
  try {
    KvState(Value::of(int64_t{1}));
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), OPD_INVALID_ARGUMENT);
    EXPECT_EQ(error.kind(), std::string("TypeError"));
    EXPECT_EQ(error.message(), std::string("value must be a paged KV cache or an RNN state, but is int"));
  }
  const opd_value none = opd_none();
  opd_kv_state *state = nullptr;
  expect_error(opd_kv_state_from_value(&none, &state), OPD_INVALID_ARGUMENT, "but is None");
  expect_error(opd_kv_state_from_value(nullptr, &state), OPD_INVALID_ARGUMENT, "must not be NULL");
  expect_error(opd_kv_state_from_value(&none, nullptr), OPD_INVALID_ARGUMENT, "must not be NULL");
  EXPECT_EQ(state, nullptr);
}

TEST(KvState, NullForAStateOrAnOutputIsAnError) {
  const KvState state(make_cache(Sizes{}));
  opd_map *lengths = nullptr;
  opd_kv_stats stats{};
  stats.struct_size = sizeof stats;
  const char *told = "must not be NULL";
  expect_error(opd_kv_state_add(nullptr, 0), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_remove(nullptr, 0), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_clear(nullptr), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_fork(nullptr, 0, 1, -1), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_pop(nullptr, 0, 1), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_begin(nullptr, nullptr, 0, nullptr, 0, nullptr, 0), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_end(nullptr, 1), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_lengths(nullptr, &lengths), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_lengths(state.get(), nullptr), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_get_stats(nullptr, &stats), OPD_INVALID_ARGUMENT, told);
  expect_error(opd_kv_state_get_stats(state.get(), nullptr), OPD_INVALID_ARGUMENT, told);
  stats.struct_size = 3;
  expect_error(opd_kv_state_get_stats(state.get(), &stats), OPD_INVALID_ARGUMENT, "struct_size is 3");
}

TEST(KvState, AnInvalidBatchIsRefusedAndChangesNothing) {
  const KvState state(make_cache(Sizes{}));
  state.add(0), state.add(1);
  const int64_t ids[] = {0, 1}, counts[] = {2, 0}, parents[] = {-1};
  expect_error(opd_kv_state_begin(state.get(), nullptr, 2, counts, 2, nullptr, 0), OPD_INVALID_ARGUMENT,
               "ids must not be NULL");
  expect_error(opd_kv_state_begin(state.get(), ids, 2, nullptr, 2, nullptr, 0), OPD_INVALID_ARGUMENT,
               "counts must not be NULL");
  expect_error(opd_kv_state_begin(state.get(), ids, 1, counts, 1, nullptr, 2), OPD_INVALID_ARGUMENT,
               "parents must not be NULL");
  expect_error(opd_kv_state_begin(state.get(), ids, 2, counts, 1, nullptr, 0), OPD_INVALID_ARGUMENT,
               "seq_ids and counts must be of one length, but are of 2 and 1");
  expect_error(opd_kv_state_begin(state.get(), ids, 2, counts, 2, nullptr, 0), OPD_INVALID_ARGUMENT,
               "counts must be at least 1, but is 0 for sequence 1");
  expect_error(opd_kv_state_begin(state.get(), ids, 1, counts, 1, parents, 1), OPD_INVALID_ARGUMENT,
               "token_tree_parent");
  EXPECT_EQ(state.lengths(), (std::map<int64_t, int64_t>{{0, 0}, {1, 0}}));
  expect_throws([&] { state.pop(0, 1); }, OPD_OUT_OF_RANGE, "n must be from 0 to the 0 rows of sequence 0");
  expect_throws([&] { state.fork(5, 6); }, OPD_NOT_FOUND, "no sequence 5");
  expect_throws([&] { state.fork(0, 1); }, OPD_INVALID_ARGUMENT, "sequence 1");
  expect_throws([&] { state.add(1); }, OPD_INVALID_ARGUMENT, "sequence 1");
  expect_throws([&] { state.remove(9); }, OPD_NOT_FOUND, "no sequence 9");
}

TEST(KvState, CountsItsSequencesTokensAndFreePages) {
  Sizes sizes;
  sizes.layers = 3,
  sizes.kinds = {0, 0, 0};  // pages of 16 tokens: 256 / 16, and one more for each of 4 sequences of a pass
  const KvState state(make_cache(sizes));
  opd_kv_stats stats = state.stats();
  EXPECT_EQ(stats.struct_size, sizeof stats);
  EXPECT_EQ(stats.num_sequences, 0);
  EXPECT_EQ(stats.max_batch, 4);
  EXPECT_EQ(stats.page_size, 16);
  EXPECT_EQ(stats.num_pages, stats.free_pages);
  EXPECT_GE(stats.num_pages, 16);
  // Float32 keys and values of one head of size 2; and for the 64 tokens that a pass may have, queries, outputs and
  // their weights for two heads, twice the last two.
  const int64_t rows = 64 * (2 * 2 + 2 + 2 + 2 * 2 + 2 + 2);
  EXPECT_EQ(stats.bytes, static_cast<uint64_t>(4 * (3 * stats.num_pages * 16 * 2 * 2 + rows)));
  state.add(0), state.add(1);
  state.begin({0, 1}, {17, 1});
  state.end();
  stats = state.stats();
  EXPECT_EQ(stats.num_sequences, 2);
  EXPECT_EQ(stats.num_tokens, 18);
  EXPECT_EQ(stats.free_pages, stats.num_pages - 3);
  state.clear();
  EXPECT_EQ(state.stats().free_pages, stats.num_pages);
  EXPECT_TRUE(state.lengths().empty());
}

TEST(KvState, LengthsComeInTheOrderOfTheNumbers) {
  const KvState state(make_cache(Sizes{}));
  for (const int64_t id : {5, -3, 40, 7, 0, 21}) state.add(id);
  Handle<opd_map> lengths;
  check(opd_kv_state_lengths(state.get(), lengths.out()));
  std::vector<int64_t> ids;
  for (int32_t i = 0; i < opd_map_count(lengths.get()); ++i) {
    Value id, length;
    check(opd_map_entry(lengths.get(), i, id.out(), length.out()));
    ids.push_back(id.view().u.int64);
  }
  EXPECT_EQ(ids, (std::vector<int64_t>{-3, 0, 5, 7, 21, 40}));
}

TEST(KvState, TokensOfATreeCountBeforeAPathIsCommitted) {
  Checked cache(Sizes{});
  cache.add(1);
  cache.run({1}, {4});
  cache.run({1}, {3}, {{-1, 0, 0}});
  EXPECT_EQ(cache.typed.lengths(), (std::map<int64_t, int64_t>{{1, 7}}));
  cache.commit({1}, {2});  // the root and one of its children
  EXPECT_EQ(cache.typed.lengths(), (std::map<int64_t, int64_t>{{1, 6}}));
}

TEST(KvState, APassThatIsNotKeptRemovesItsTokens) {
  Checked cache(Sizes{});
  cache.add(4), cache.add(5);
  cache.run({4, 5}, {20, 3});
  const int64_t free = cache.free_pages();
  try {
    const KvPass pass(cache.typed, {5, 4}, {1, 40});
    EXPECT_LT(cache.free_pages(), free);
    throw std::runtime_error("the program failed");
  } catch (const std::runtime_error &) {}
  EXPECT_EQ(cache.free_pages(), free);
  EXPECT_EQ(cache.typed.lengths(), (std::map<int64_t, int64_t>{{4, 20}, {5, 3}}));
  cache.expect_rows();
  cache.run({4, 5}, {1, 1});  // goes on as if it had not been
  cache.typed.end(false);     // no pass runs: nothing is taken back
  EXPECT_EQ(cache.typed.lengths(), (std::map<int64_t, int64_t>{{4, 21}, {5, 4}}));
  KvPass kept(cache.typed, {4}, {2});
  kept.keep();
  EXPECT_EQ(cache.typed.lengths(), (std::map<int64_t, int64_t>{{4, 23}, {5, 4}}));
}

TEST(KvState, AFailedBeginKeepsThePreviousPassRevertible) {
  Checked cache(Sizes{});
  cache.add(4);
  cache.run({4}, {20});
  const int64_t free = cache.free_pages();
  cache.typed.begin({4}, {40});
  const Tensor qkv({40, kHeads + 2, kDim}, "float32"), out({40, kHeads, kDim}, "float32");
  cache_function("attention_with_fused_qkv")(cache.cache, int64_t{0}, kScale, qkv, out);
  expect_throws([&] { cache.typed.begin({9}, {1}); }, OPD_NOT_FOUND, "the cache has no sequence 9");
  expect_throws([&] { cache.typed.begin({4}, {1000}); }, OPD_INVALID_ARGUMENT, "a pass may add ");
  cache.typed.end(false);
  EXPECT_EQ(cache.typed.lengths(), (std::map<int64_t, int64_t>{{4, 20}}));
  EXPECT_EQ(cache.free_pages(), free);
  cache.expect_rows();
}

TEST(KvState, WhileAKernelUsesItAnotherThreadCannot) {
  Sizes sizes;
  std::vector<std::string> told;
  KvState state(nullptr);
  const Value cache = make_cache(sizes, [&](auto &a) {
    a[24] = Value::retain(arg(make_function([&](const opd_value *args, int32_t n, opd_value *out) {
      split_rotary(args, n, out);
      std::thread([&] {
        const auto listen = [&](auto &&work) {
          try {
            work();
          } catch (const Error &error) {
            EXPECT_EQ(error.code(), OPD_FAILED_PRECONDITION);
            told.push_back(error.message());
          }
        };
        listen([&] { state.add(1); }), listen([&] { state.remove(0); }), listen([&] { state.clear(); });
        listen([&] { state.fork(0, 1); }), listen([&] { state.pop(0, 1); }), listen([&] { state.begin({0}, {1}); });
        listen([&] { state.end(); }), listen([&] { state.lengths(); }), listen([&] { state.stats(); });
      }).join();
    })));
  });
  state = KvState(cache);
  state.add(0);
  state.begin({0}, {1});
  cache_function("attention_with_fused_qkv")(cache, int64_t{0}, kScale, Tensor({1, 4, 2}, "float32"),
                                             Tensor({1, 2, 2}, "float32"));
  state.end();
  EXPECT_EQ(told, std::vector<std::string>(9,
                                           "another call uses the opdyno.vm.PagedKVCache now; use one state from one "
                                           "thread at a time"));
  EXPECT_EQ(state.lengths(), (std::map<int64_t, int64_t>{{0, 1}}));
}

TEST(KvState, CountsTheTokensOfARecurrentNetwork) {
  const auto function = [](const char *name) { return Function::global(name); };
  const auto nothing = [](const opd_value *, int32_t, opd_value *) {};
  const KvState state(
      function("vm.builtin.rnn_state_create")(int64_t{2}, int64_t{3}, int64_t{4}, tuple_of(make_function(nothing)),
                                              tuple_of(make_function(nothing)), tuple_of(floats({0.5}, {1}))));
  opd_kv_stats stats = state.stats();
  EXPECT_EQ(stats.page_size, 0);
  EXPECT_EQ(stats.max_batch, 3);
  EXPECT_EQ(stats.num_pages, 3);
  EXPECT_EQ(stats.bytes, 2 * 3 * 4 * sizeof(float));  // layers, sequences, states before
  state.add(0), state.add(1);
  state.begin({0, 1}, {5, 1}), state.end();
  state.begin({0}, {1}), state.end();
  state.begin({0, 1}, {1, 1}), state.end(false);
  EXPECT_EQ(state.lengths(), (std::map<int64_t, int64_t>{{0, 6}, {1, 1}}));
  state.pop(0, 1);
  state.fork(0, 2, -1);
  EXPECT_EQ(state.lengths(), (std::map<int64_t, int64_t>{{0, 5}, {1, 1}, {2, 5}}));
  stats = state.stats();
  EXPECT_EQ(stats.num_tokens, 11);
  EXPECT_EQ(stats.free_pages, 0);
  expect_throws([&] { state.add(3); }, OPD_OUT_OF_RANGE, "the state is full");
  expect_throws([&] { state.pop(0, 1); }, OPD_OUT_OF_RANGE, "to the 0 states");  // five tokens left one state
  state.remove(0);
  EXPECT_EQ(state.stats().free_pages, 1);
}
