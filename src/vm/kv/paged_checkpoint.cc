// Checkpoints of a paged cache: a sequence is exported and imported as one tensor of pages per layer. A checkpoint's
// header is in TVM's JSON, so that each runtime reads the other's checkpoints.
#include <array>
#include <charconv>

#include "base/bytes.h"
#include "base/json_document.h"
#include "base/json_writer.h"
#include "device/device.h"
#include "vm/kv/paged_kv_cache.h"

namespace opd {
namespace {

constexpr int64_t kVersion = 1;
constexpr const char *kCacheType = "relax.vm.PagedAttentionKVCache";
constexpr const char *kGroupLayout = "1,num_logical_pages,2,num_kv_heads,page_size,qk_head_dim";

const char *rope_name(KvRope rope) {
  return rope == KvRope::kNone ? "none" : rope == KvRope::kNormal ? "normal" : "inline";
}

// Formats like C's %.17g in the C locale.
std::string digits_of(double number) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::general, 17).ptr;
  return {text, end};
}

// The text that TVM hashes.
std::string layout_of(const KvConfig &c) {
  return concat("format_version=", kVersion, ";cache_type=", kCacheType, ";page_size=", c.page_size,
                ";num_layers=", c.num_layers, ";layer_begin=", c.first_layer,
                ";layer_end=", c.first_layer + c.num_layers, ";num_qo_heads=", c.query_heads,
                ";num_kv_heads=", c.kv_heads, ";qk_head_dim=", c.key_dim, ";v_head_dim=", c.value_dim,
                ";dtype=", dtype_name(c.dtype), ";rope_mode=", rope_name(c.rope),
                ";rotary_scale=", digits_of(c.rope_scale), ";rotary_theta=", digits_of(c.rope_theta),
                ";has_rope_ext_factors=0;support_sliding_window=0;support_layer_sliding_window=0;page_group_layout=",
                kGroupLayout, ";attn_kinds=", joined(std::vector<const char *>(c.kinds.size(), "mha"), ","));
}

void write_groups(JsonWriter &json, const KvConfig &c, int64_t length) {
  const int64_t pages = pages_for(length, c.page_size);
  json.key("logical_pages").begin_array();
  for (int64_t page = 0; page < pages; ++page) {
    const int64_t start = page * c.page_size;
    json.begin_object().key("logical_page_index").value(page).key("start_pos").value(start);
    json.key("length").value(std::min(c.page_size, length - start)).end_object();
  }
  json.end_array().key("groups").begin_array();
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    const int64_t dims[] = {1, pages, 2, c.kv_heads, c.page_size, c.key_dim};
    int64_t bytes = (c.dtype.bits * c.dtype.lanes + 7) / 8;
    json.begin_object().key("group_index").value(layer).key("layer_begin").value(c.first_layer + layer);
    json.key("layer_end").value(c.first_layer + layer + 1).key("num_logical_pages").value(pages);
    json.key("dtype").value(dtype_name(c.dtype)).key("shape").begin_array();
    for (const int64_t dim : dims) json.value(dim), bytes *= dim;
    json.end_array().key("nbytes").value(bytes).end_object();
  }
  json.end_array();
}

// The members of the metadata. Each must occur exactly once.
class Fields {
 public:
  explicit Fields(const JsonDocument &document) : document_(document) {
    if (!cJSON_IsObject(document.root())) document.bad(document.root(), "is not an object");
  }
  const cJSON *at(std::string_view name) const {
    const cJSON *found = nullptr;
    for (const cJSON *member = document_.root()->child; member; member = member->next)
      if (document_.key(member) == name && std::exchange(found, member))
        document_.bad(member, concat("repeats \"", name, "\""));
    if (!found) document_.bad(document_.root(), concat("has no \"", name, "\""));
    return found;
  }
  int64_t integer(std::string_view name) const {
    const cJSON *found = at(name);
    if (!cJSON_IsNumber(found)) document_.bad(found, concat("has a \"", name, "\" that is not an integer"));
    return document_.integer(found);
  }
  std::string text(std::string_view name) const {
    const cJSON *found = at(name);
    if (!cJSON_IsString(found)) document_.bad(found, concat("has a \"", name, "\" that is not a string"));
    return document_.text(found);
  }
  void require_list(std::string_view name, int64_t size) const {
    const cJSON *found = at(name);
    if (!cJSON_IsArray(found) || cJSON_GetArraySize(found) != size)
      document_.bad(found, concat("has a \"", name, "\" that is not a list of ", size, " items"));
  }

 private:
  const JsonDocument &document_;
};

// Throws OPD_UNSUPPORTED unless rows of the cache mean the same in another cache: MHA without windows and rope factors.
void require_checkpoints(const KvConfig &config) {
  const char *why = config.has_kind(KvLayerKind::kLatent)   ? "has layers of MLA"
                    : config.has_kind(KvLayerKind::kWindow) ? "has layers with windows"
                    : config.has_windows                    ? "supports sliding windows"
                    : config.rope_factors                   ? "has rope extension factors"
                    : config.key_dim != config.value_dim    ? "has keys and values of different sizes"
                                                            : nullptr;
  if (why) fail(OPD_UNSUPPORTED, "checkpoints are of caches with full attention (MHA), but this one ", why);
}

std::string checkpoint_metadata(const KvConfig &c, int64_t id, int64_t length) {
  JsonWriter json;
  json.begin_object().key("format_version").value(kVersion).key("cache_type").value(kCacheType);
  json.key("page_size").value(c.page_size).key("num_layers").value(c.num_layers);
  json.key("layer_begin").value(c.first_layer).key("layer_end").value(c.first_layer + c.num_layers);
  json.key("num_qo_heads").value(c.query_heads).key("num_kv_heads").value(c.kv_heads);
  json.key("qk_head_dim").value(c.key_dim).key("v_head_dim").value(c.value_dim);
  json.key("reserved_num_seqs").value(c.max_batch).key("num_total_pages").value(c.num_pages());
  json.key("prefill_chunk_size").value(c.max_rows).key("dtype").value(dtype_name(c.dtype));
  json.key("attn_kinds").begin_array();
  for (size_t i = 0; i < c.kinds.size(); ++i) json.value("mha");
  json.end_array().key("rope_mode").value(rope_name(c.rope)).key("rotary_scale").raw(digits_of(c.rope_scale));
  json.key("rotary_theta").raw(digits_of(c.rope_theta)).key("has_rope_ext_factors").value(false);
  json.key("support_sliding_window").value(false).key("support_layer_sliding_window").value(false);
  json.key("page_group_layout").value(kGroupLayout).key("layout_hash").value(checkpoint_layout_hash(c));
  json.key("seq_id").value(id).key("seq_length").value(length);
  write_groups(json, c, length);
  json.end_object();
  return json.take();
}

// Returns the length of the sequence that `metadata` describes. Throws unless the sequence fits into the cache as
// sequence `id`.
// Pages and groups follow from the layout and the length, so only their counts are compared.
int64_t read_checkpoint(const KvConfig &config, int64_t id, std::string_view metadata) {
  const JsonDocument document(metadata, "the checkpoint's metadata");
  const Fields fields(document);
  const int64_t version = fields.integer("format_version");
  require(version == kVersion, "the checkpoint must be of version ", kVersion, ", but is of ", version);
  const std::string hash = fields.text("layout_hash"), wanted = checkpoint_layout_hash(config);
  require(hash == wanted, "the checkpoint is of a cache with another layout: its hash is ", json_string(hash),
          ", but this cache's is \"", wanted, "\"");
  const int64_t given = fields.integer("seq_id");
  require(given == id, "the checkpoint was saved from sequence ", given, " and cannot be loaded as sequence ", id);
  const int64_t length = fields.integer("seq_length");
  if (length < 0 || length > config.num_pages() * config.page_size)
    fail(OPD_OUT_OF_RANGE, "seq_length of the checkpoint must be from 0 to the ", config.num_pages() * config.page_size,
         " rows of the cache, but is ", length);
  fields.require_list("logical_pages", pages_for(length, config.page_size));
  fields.require_list("groups", config.num_layers);
  return length;
}

}  // namespace

// FNV-1a of 64 bits.
std::string checkpoint_layout_hash(const KvConfig &config) {
  require_checkpoints(config);
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char letter : layout_of(config)) hash = (hash ^ static_cast<uint8_t>(letter)) * 0x100000001B3u;
  std::array<uint8_t, sizeof hash> bytes;  // the highest byte comes first, as in the written number
  for (uint8_t &byte : bytes) byte = static_cast<uint8_t>(hash >> 56), hash <<= 8;
  return hex(bytes);
}

std::string PagedKvCache::checkpoint_metadata(int64_t id) const {
  const KvSequence &sequence = sequences_.get(id);
  require(sequence.tree.is_empty(), "sequence ", id,
          " has a token tree; commit one of its paths before a checkpoint is made");
  return opd::checkpoint_metadata(config_, id, sequence.length);
}

void PagedKvCache::check_group(const DLTensor &tensor, int64_t group, int64_t pages) const {
  if (group < 0 || group >= config_.num_layers)
    fail(OPD_OUT_OF_RANGE, "group_id must be from 0 to ", config_.num_layers - 1, ", but is ", group);
  const int64_t dims[] = {1, pages, 2, config_.kv_heads, config_.page_size, config_.key_dim};
  require(std::ranges::equal(dims_of(tensor), dims) && same(tensor.dtype, config_.dtype) && is_contiguous(tensor),
          "the tensor of the pages must be compact, of ", type_text(config_.dtype, dims), ", but is ",
          describe(tensor));
}

// Returns page `number` of a tensor of pages.
KvView PagedKvCache::page_of(const DLTensor &pages, int64_t number) const {
  const auto page = [this](const DLTensor &memory) {
    return KvView(memory, {2, config_.kv_heads, config_.page_size, config_.key_dim});
  };
  DLTensor memory = pages;
  memory.byte_offset += bytes_of(*page(pages)) * static_cast<uint64_t>(number);
  return page(memory);
}

// Unused rows of the last page are zeroed, so that equal sequences give equal checkpoints.
void PagedKvCache::export_group(int64_t id, int64_t group, const DLTensor &tensor) {
  require_checkpoints(config_);
  const KvSequence &sequence = sequences_.get(id);
  const int64_t size = config_.page_size;
  check_group(tensor, group, pages_for(sequence.length, size));
  for (int64_t first = 0, number = 0; first < sequence.length; first += size, ++number) {
    KvView from = page_of(stores_[static_cast<size_t>(group)]->dl, sequences_.place_of(sequence, first) / size),
           to = page_of(tensor, number);
    if (const int64_t rows = sequence.length - first; rows < size) {
      const std::vector<char> zeros(bytes_of(*to));
      copy_from_bytes(*to, zeros.data(), zeros.size());
      from.cut(2, rows);
      to.cut(2, rows);
    }
    copy_tensor(*from, *to);
  }
}

void PagedKvCache::prepare_import(int64_t id, std::string_view metadata) {
  const int64_t length = read_checkpoint(config_, id, metadata);
  sequences_.replace(id, length);
  imports_[id].assign(static_cast<size_t>(length > 0 ? config_.num_layers : 0), false);
  forward_.end();
}

void PagedKvCache::import_group(int64_t id, int64_t group, const DLTensor &tensor) {
  const auto found = imports_.find(id);
  if (found == imports_.end()) fail(OPD_FAILED_PRECONDITION, "no import of sequence ", id, " was prepared");
  const KvSequence &sequence = sequences_.importing(id);
  const int64_t size = config_.page_size, pages = pages_for(sequence.length, size);
  check_group(tensor, group, pages);
  require(pages > 0 && !found->second[static_cast<size_t>(group)], "group ", group, " of sequence ", id,
          " was imported already");
  for (int64_t number = 0; number < pages; ++number)
    copy_tensor(*page_of(tensor, number),
                *page_of(stores_[static_cast<size_t>(group)]->dl, sequences_.place_of(sequence, number * size) / size));
  found->second[static_cast<size_t>(group)] = true;
}

void PagedKvCache::finish_import(int64_t id) {
  const auto found = imports_.find(id);
  if (found == imports_.end()) fail(OPD_FAILED_PRECONDITION, "no import of sequence ", id, " was prepared");
  for (size_t group = 0; group < found->second.size(); ++group)
    if (!found->second[group])
      fail(OPD_FAILED_PRECONDITION, "group ", group, " of sequence ", id, " is yet to be imported");
  imports_.erase(found);
  sequences_.finish_import(id);
}

}  // namespace opd
