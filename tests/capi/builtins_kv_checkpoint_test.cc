// Checkpoints of sequences of paged attention caches.
#include "support/checked_kv_cache.h"

using namespace opdyno_test;
using namespace opdyno_test::attention;

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
