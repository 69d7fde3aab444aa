// Checkpoints of sequences of paged attention caches.
#include <iomanip>

#include "support/checked_kv_cache.h"

using namespace opdyno_test;
using namespace opdyno_test::attention;

namespace {

std::string replaced(std::string text, const std::string &old, const std::string &now) {
  return text.replace(text.find(old), old.size(), now);
}

Value number(double x) { return Value::retain(arg(x)); }
Value number(int64_t x) { return Value::retain(arg(x)); }

// Layers 3 and 4 of a model with 6 heads of queries and 3 of keys and values, of size 4. The kernels are not called.
Value make_part(int64_t rope = 1, double scale = 0.1, const std::function<void(std::vector<Value> &)> &change = {},
                int64_t max_total = 256) {
  Sizes sizes;
  sizes.max_total = max_total, sizes.layers = 2, sizes.kinds = {0, 0};
  return make_cache(sizes, [&](auto &a) {
    a[1] = shape_of({3, 5});
    a[2] = number(int64_t{6}), a[3] = number(int64_t{3}), a[4] = a[5] = number(int64_t{4});
    a[8] = number(rope), a[9] = number(scale), a[10] = number(5000.0);
    if (change) change(a);
  });
}

// FNV-1a of 64 bits, in hexadecimal.
std::string fnv1a(const std::string &text) {
  uint64_t hash = 14695981039346656037u;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  std::ostringstream out;
  out << std::hex << std::setfill('0') << std::setw(16) << hash;
  return out.str();
}

// The text whose hash TVM takes.
std::string hash_of_part(const std::string &rope, const std::string &scale) {
  return fnv1a(
      "format_version=1;cache_type=relax.vm.PagedAttentionKVCache;page_size=16;num_layers=2;layer_begin=3;layer_end=5;"
      "num_qo_heads=6;num_kv_heads=3;qk_head_dim=4;v_head_dim=4;dtype=float32;rope_mode=" +
      rope + ";rotary_scale=" + scale +
      ";rotary_theta=5000;has_rope_ext_factors=0;support_sliding_window=0;support_layer_sliding_window=0;"
      "page_group_layout=1,num_logical_pages,2,num_kv_heads,page_size,qk_head_dim;attn_kinds=mha,mha");
}

void add_rows(const Value &cache, int64_t id, int64_t count) {
  state("begin_forward")(cache, shape_of({id}), shape_of({count}));
  state("end_forward")(cache);
}
std::string metadata_of(const Value &cache, int64_t id) {
  return text_of(cache_function("get_checkpoint_metadata")(cache, id));
}
// Moves a sequence whose groups are not looked at.
void import_all(const Value &cache, int64_t id, const std::string &metadata, int64_t pages, int64_t groups = 2) {
  cache_function("prepare_import")(cache, id, metadata);
  for (int64_t group = 0; group < groups; ++group)
    cache_function("import_page_group")(cache, id, group, Tensor({1, pages, 2, 3, 16, 4}, "float32"));
  cache_function("finish_import")(cache, id);
}

}  // namespace

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
  expect_throws([&] { import(changed("\"format_version\":1", "\"format_version\":1,\"format_version\":1")); },
                OPD_BAD_FORMAT, "repeats \"format_version\"");
  expect_throws([&] { import(changed("layout_hash\":\"", "layout_hash\":\"0")); }, OPD_INVALID_ARGUMENT,
                "a cache with another layout");
  expect_throws([&] { import(changed("\"seq_id\":5", "\"seq_id\":6")); }, OPD_INVALID_ARGUMENT,
                "was saved from sequence 6 and cannot be loaded as sequence 5");
  for (const char *length : {"-1", "1000000000", "9223372036854775807"})
    expect_throws([&] { import(changed("\"seq_length\":37", std::string("\"seq_length\":") + length)); },
                  OPD_OUT_OF_RANGE, "seq_length of the checkpoint must be from 0 to");
  expect_throws([&] { import(changed("\"seq_length\":37", "\"seq_length\":\"x\"")); }, OPD_BAD_FORMAT,
                "has a \"seq_length\" that is not an integer");
  expect_throws([&] { import(changed("\"seq_length\":37", "\"seq_length\":49")); }, OPD_BAD_FORMAT,
                "has a \"logical_pages\" that is not a list of 4 items");
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

TEST(PagedKvCache, RefusesCheckpointsThatNoOtherCacheCouldRead) {
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

TEST(Checkpoint, DescribesTheCacheTheSequenceAndItsPages) {
  const Value cache = make_part();
  state("add_sequence")(cache, 7);
  add_rows(cache, 7, 21);  // a page, and 5 rows of another: 2 * 3 heads * 16 rows * 4 numbers * 4 bytes each
  const std::string group = "\"num_logical_pages\":2,\"dtype\":\"float32\",\"shape\":[1,2,2,3,16,4],\"nbytes\":3072}";
  EXPECT_EQ(
      metadata_of(cache, 7),
      "{\"format_version\":1,\"cache_type\":\"relax.vm.PagedAttentionKVCache\",\"page_size\":16,\"num_layers\":2,"
      "\"layer_begin\":3,\"layer_end\":5,\"num_qo_heads\":6,\"num_kv_heads\":3,\"qk_head_dim\":4,\"v_head_dim\":4,"
      "\"reserved_num_seqs\":4,\"num_total_pages\":17,\"prefill_chunk_size\":64,\"dtype\":\"float32\","
      "\"attn_kinds\":[\"mha\",\"mha\"],\"rope_mode\":\"normal\",\"rotary_scale\":0.10000000000000001,"
      "\"rotary_theta\":5000,\"has_rope_ext_factors\":false,\"support_sliding_window\":false,"
      "\"support_layer_sliding_window\":false,"
      "\"page_group_layout\":\"1,num_logical_pages,2,num_kv_heads,page_size,qk_head_dim\",\"layout_hash\":\"" +
          hash_of_part("normal", "0.10000000000000001") +
          "\",\"seq_id\":7,\"seq_length\":21,\"logical_pages\":["
          "{\"logical_page_index\":0,\"start_pos\":0,\"length\":16},"
          "{\"logical_page_index\":1,\"start_pos\":16,\"length\":5}],\"groups\":["
          "{\"group_index\":0,\"layer_begin\":3,\"layer_end\":4," +
          group + ",{\"group_index\":1,\"layer_begin\":4,\"layer_end\":5," + group + "]}");
  for (const auto &[mode, name] : {std::pair<int64_t, const char *>{0, "none"}, {1, "normal"}, {2, "inline"}})
    EXPECT_EQ(text_of(cache_function("get_layout_hash")(make_part(mode, 0.25))), hash_of_part(name, "0.25"));
}

TEST(Checkpoint, HasTheLayersApartAndZerosBehindTheLastRow) {
  const Value from = make_part(), cache = make_part();
  state("add_sequence")(from, 7);
  add_rows(from, 7, 21);
  state("add_sequence")(cache, 0);
  add_rows(cache, 0, 20);
  const auto groups = [](float first) {
    Tensor made({1, 2, 2, 3, 16, 4}, "float32");
    for (int64_t i = 0; i < made.size(); ++i) made.data<float>()[i] = first + static_cast<float>(i);
    return made;
  };
  const Tensor given[] = {groups(1), groups(10000)};
  cache_function("prepare_import")(cache, 7, metadata_of(from, 7));
  for (const int64_t group : {1, 0})
    cache_function("import_page_group")(cache, 7, group, given[static_cast<size_t>(group)]);
  cache_function("finish_import")(cache, 7);
  for (const int64_t group : {0, 1}) {
    const Tensor out = groups(-1000);
    cache_function("export_page_group")(cache, 7, group, out);
    std::vector<float> expected = elements_of<float>(given[static_cast<size_t>(group)]);
    for (size_t head = 6; head < 12; ++head)  // of the second page: its keys' and its values'
      std::fill_n(expected.begin() + static_cast<ptrdiff_t>(head * 64 + 5 * 4), 11 * 4, 0.F);
    EXPECT_EQ(elements_of<float>(out), expected) << "group " << group;
  }
  const Tensor out = groups(0), other({1, 2, 2, 3, 16, 4}, "float16");
  const auto give = cache_function("export_page_group");
  expect_throws([&] { give(cache, 7, 2, out); }, OPD_OUT_OF_RANGE, "group_id must be from 0 to 1, but is 2");
  expect_throws([&] { give(cache, 7, -1, out); }, OPD_OUT_OF_RANGE, "group_id must be from 0 to 1, but is -1");
  expect_throws([&] { give(cache, 7, 0, other); }, OPD_INVALID_ARGUMENT,
                "of float32[1, 2, 2, 3, 16, 4], but is float16");
  expect_throws([&] { give(cache, 8, 0, out); }, OPD_NOT_FOUND, "the cache has no sequence 8");
}

TEST(Checkpoint, IsRestoredWholeOrNotAtAll) {
  const Value from = make_part(), cache = make_part(1, 0.1, {}, 64);
  state("add_sequence")(from, 1), state("add_sequence")(from, 2);
  for (const int64_t count : {64, 64, 64, 64, 16}) add_rows(from, 1, count);  // 17 pages of 16 rows
  const std::string full = metadata_of(from, 1);
  import_all(make_part(), 1, full, 17);
  expect_throws([&] { import_all(make_part(), 1, replaced(full, "\"seq_length\":272", "\"seq_length\":273"), 18); },
                OPD_OUT_OF_RANGE,
                "seq_length of the checkpoint must be from 0 to the 272 rows of the cache, but is 273");
  expect_throws([&] { import_all(cache, 1, full, 17); }, OPD_OUT_OF_RANGE, "to the 80 rows of the cache, but is 272");
  import_all(cache, 2, metadata_of(from, 2), 0, 0);
  EXPECT_EQ(cache_function("get_sequence_length")(cache, 2).view().u.int64, 0);
  expect_throws([&] { cache_function("import_page_group")(cache, 2, 0, floats({1})); }, OPD_FAILED_PRECONDITION,
                "no import of sequence 2 was prepared");
}

TEST(Checkpoint, TakesThePagesOfTheSequenceThatItReplaces) {
  const Value from = make_part(), cache = make_part(1, 0.1, {}, 64);  // 5 pages
  state("add_sequence")(from, 5), state("add_sequence")(from, 6), state("add_sequence")(cache, 5);
  for (const int64_t id : {5, 6}) add_rows(from, id, 37);
  add_rows(cache, 5, 64), add_rows(cache, 5, 16);
  expect_throws([&] { import_all(cache, 6, metadata_of(from, 6), 3); }, OPD_OUT_OF_RANGE,
                "the cache is full: the import of sequence 6 of 37 rows needs 3 pages of 16 rows, but 0 of 5 are free");
  import_all(cache, 5, metadata_of(from, 5), 3);
  EXPECT_EQ(cache_function("get_sequence_length")(cache, 5).view().u.int64, 37);
  EXPECT_EQ(cache_function("get_num_available_pages")(cache).view().u.int64, 2);
  expect_throws([&] { import_all(cache, 6, metadata_of(from, 6), 3); }, OPD_OUT_OF_RANGE, "but 2 of 5 are free");
}

TEST(Checkpoint, IsForgottenWithItsSequenceAndEndsThePass) {
  const Value from = make_part(), cache = make_part();
  state("add_sequence")(from, 5), state("add_sequence")(cache, 1);
  add_rows(from, 5, 3);
  const std::string metadata = metadata_of(from, 5);
  for (const bool clears : {false, true}) {
    cache_function("prepare_import")(cache, 5, metadata);
    if (clears) state("clear")(cache);
    else state("remove_sequence")(cache, 5);
    expect_throws([&] { cache_function("finish_import")(cache, 5); }, OPD_FAILED_PRECONDITION,
                  "no import of sequence 5 was prepared");
    expect_throws([&] { cache_function("import_page_group")(cache, 5, 0, floats({1})); }, OPD_FAILED_PRECONDITION,
                  "no import of sequence 5 was prepared");
  }
  state("add_sequence")(cache, 1);
  state("begin_forward")(cache, shape_of({1}), shape_of({1}));
  cache_function("prepare_import")(cache, 5, metadata);
  expect_throws([&] { cache_function("get_query_positions")(cache); }, OPD_INVALID_ARGUMENT,
                "get_query_positions needs the rows of a pass");
}

TEST(Checkpoint, WithOtherListsOrTypesIsRefused) {
  const Value from = make_part(), cache = make_part();
  state("add_sequence")(from, 5);
  add_rows(from, 5, 3);
  const std::string metadata = metadata_of(from, 5), rest = metadata.substr(metadata.find("\"groups\":"));
  const auto refused = [&](const std::string &old, const std::string &now, const std::string &why) {
    expect_throws([&] { cache_function("prepare_import")(cache, 5, replaced(metadata, old, now)); }, OPD_BAD_FORMAT,
                  why);
  };
  refused(rest, "\"groups\":[]}", "has a \"groups\" that is not a list of 2 items");
  refused(rest, "\"groups\":[1,2,3]}", "has a \"groups\" that is not a list of 2 items");
  refused(rest, "\"groups\":{\"a\":1,\"b\":2}}", "has a \"groups\" that is not a list of 2 items");
  refused("\"layout_hash\":\"", "\"layout_hash\":5,\"other\":\"", "has a \"layout_hash\" that is not a string");
  refused("\"seq_id\":5", "\"seq_id\":5.5", "the checkpoint's metadata");
  refused("\"seq_id\":5", "\"seq_id\":null", "has a \"seq_id\" that is not an integer");
  EXPECT_EQ(cache_function("empty")(cache).to_string(), "true");
  expect_throws([&] { cache_function("prepare_import")(make_part(2), 5, metadata); }, OPD_INVALID_ARGUMENT,
                "the checkpoint is of a cache with another layout: its hash is \"" +
                    hash_of_part("normal", "0.10000000000000001") + "\", but this cache's is \"" +
                    hash_of_part("inline", "0.10000000000000001") + "\"");
}

TEST(Checkpoint, IsRefusedForWindowsMlaAndOpenTrees) {
  Sizes windows, layer, latent;
  windows.windows = 1, layer.kinds = {3}, latent.kinds = {1};
  const auto refused = [](const Value &cache, const std::string &why) {
    state("add_sequence")(cache, 0);
    const std::string message = "checkpoints are of caches with full attention (MHA), but this one " + why;
    expect_throws([&] { metadata_of(cache, 0); }, OPD_UNSUPPORTED, message);
    expect_throws([&] { cache_function("export_page_group")(cache, 0, 0, floats({1})); }, OPD_UNSUPPORTED, message);
  };
  refused(make_cache(windows), "supports sliding windows");
  refused(make_cache(layer), "has layers with windows");
  refused(make_cache(latent), "has layers of MLA");
  refused(make_part(1, 1, [](auto &a) { a[11] = Value::retain(arg(floats({1, 2}))); }), "has rope extension factors");
  refused(make_part(1, 1, [](auto &a) { a[5] = number(int64_t{2}); }), "has keys and values of different sizes");
  Checked trees(Sizes{});
  trees.add(3), trees.run({3}, {2}, {{-1, 0}});
  expect_throws([&] { metadata_of(trees.cache, 3); }, OPD_INVALID_ARGUMENT,
                "sequence 3 has a token tree; commit one of its paths before a checkpoint is made");
}
