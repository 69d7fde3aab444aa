// TVM's tensor cache: a JSON file that lists tensors and their offsets in shard files of the same directory.
#include <algorithm>

#include "base/file.h"
#include "base/json_document.h"
#include "base/json_writer.h"
#include "device/device.h"
#include "params/formats.h"
#include "params/md5.h"
#include "params/tensor_bytes.h"

namespace opd {
namespace {

// bfloat16 is the upper half of a float32.
Ref<Tensor> widen(const StoredTensor &stored) {
  auto tensor = make_tensor(stored.dims, stored.dtype, kHost, MemoryUse::kParameter);
  advise_huge_pages(tensor->dl.data, stored.bytes);
  auto *to = static_cast<uint32_t *>(tensor->dl.data);
  const uint8_t *from = stored.source->bytes().data() + stored.offset;
  for (uint64_t i = 0; i < stored.bytes / 4; ++i) {
    uint16_t half;
    std::memcpy(&half, from + 2 * i, 2);
    to[i] = uint32_t{half} << 16;
  }
  return tensor;
}

class CacheReader {
 public:
  CacheReader(std::string_view json, const std::string &path, const LoadOptions &options)
      : path_(path), options_(options), json_(json, path.c_str()) {}

  Ref<Params> read() {
    const cJSON *shards = cJSON_IsObject(json_.root()) ? find(json_.root(), "records") : nullptr;
    if (!shards || !cJSON_IsArray(shards))
      json_.bad(json_.root(), "is not an object with a list \"records\" of shards");
    for (const cJSON *shard = shards->child; shard; shard = shard->next) read_shard(shard);
    return params_;
  }

 private:
  struct Extent {
    uint64_t begin, end;
    const cJSON *where;
  };

  // Returns the member `key`, or null.
  const cJSON *find(const cJSON *object, std::string_view key) const {
    const cJSON *found = nullptr;
    for (const cJSON *member = object->child; member; member = member->next)
      if (json_.key(member) == key && std::exchange(found, member)) json_.bad(member, concat("repeats \"", key, "\""));
    return found;
  }
  const cJSON *need(const cJSON *object, std::string_view key) const {
    if (!cJSON_IsObject(object)) json_.bad(object, concat("is not an object with \"", key, "\""));
    if (const cJSON *member = find(object, key)) return member;
    json_.bad(object, concat("lacks \"", key, "\""));
  }
  std::string text(const cJSON *object, std::string_view key) const {
    const cJSON *item = need(object, key);
    if (!cJSON_IsString(item)) json_.bad(item, "is not text");
    return json_.text(item);
  }
  uint64_t number(const cJSON *item) const {
    if (!cJSON_IsNumber(item) || json_.integer(item) < 0) json_.bad(item, "is not an integer from 0 on");
    return static_cast<uint64_t>(json_.integer(item));
  }
  const cJSON *list(const cJSON *object, std::string_view key) const {
    const cJSON *item = need(object, key);
    if (!cJSON_IsArray(item)) json_.bad(item, "is not a list");
    return item;
  }

  // A downloaded cache must not make opdyno read files outside its directory.
  std::string shard_path(const cJSON *shard) const {
    const std::string name = text(shard, "dataPath");
    bool outside = name.empty() || name.front() == '/' || name.find('\0') != std::string::npos;
    for (size_t begin = 0; begin <= name.size() && !outside;) {
      const size_t end = std::min(name.find('/', begin), name.size());
      outside = name.substr(begin, end - begin) == "..";
      begin = end + 1;
    }
    if (outside)
      json_.bad(need(shard, "dataPath"), concat("names a shard that is not below its directory: \"", name, "\""));
    const size_t slash = path_.rfind('/');
    return slash == std::string::npos ? name : path_.substr(0, slash + 1) + name;
  }

  void read_shard(const cJSON *shard) {
    if (const std::string format = text(shard, "format"); format != "raw-shard")
      fail(OPD_UNSUPPORTED, path_, ": JSON at offset ", json_.offset(shard), " has the shard format \"", format,
           "\"; only raw-shard is supported");
    const uint64_t size = number(need(shard, "nbytes"));
    const cJSON *tensors = list(shard, "records");
    const std::string path = shard_path(shard);
    const Ref<ByteSource> source = ByteSource::map(path, !options_.copy);
    if (source->bytes().size() != size)
      fail(OPD_BAD_FORMAT, path, " has ", source->bytes().size(), " bytes, but ", path_, " says ", size);
    if (options_.verify_checksums) verify(shard, *source);
    std::vector<Extent> extents;
    for (const cJSON *tensor = tensors->child; tensor; tensor = tensor->next) read_tensor(tensor, source, extents);
    check_overlap(extents);
    if (options_.prefetch && !options_.copy) source->prefetch();
    if (options_.copy) params_->copy_all();
    source->close_file();
  }

  void verify(const cJSON *shard, const ByteSource &source) const {
    const cJSON *sum = find(shard, "md5sum");
    if (!sum) return;
    if (!cJSON_IsString(sum)) json_.bad(sum, "is not text");
    Md5 md5;
    md5.add(source.bytes());
    if (json_.text(sum) != md5.finish()) fail(OPD_BAD_FORMAT, source.name(), " does not fit its md5sum in ", path_);
  }

  void read_tensor(const cJSON *tensor, const Ref<ByteSource> &source, std::vector<Extent> &extents) {
    const std::string name = text(tensor, "name"), dtype = text(tensor, "dtype"), format = text(tensor, "format");
    StoredTensor stored{};
    try {
      stored.dtype = parse_dtype(dtype);
    } catch (const Exception &error) { json_.bad(need(tensor, "dtype"), error.what()); }
    const cJSON *shape = list(tensor, "shape");
    for (const cJSON *item = shape->child; item; item = item->next)
      stored.dims.push_back(static_cast<int64_t>(number(item)));
    if (static_cast<int16_t>(stored.dtype.lanes) <= 0 || stored.dtype.bits == 0 ||
        !compact_bytes(stored.dims, stored.dtype, stored.bytes))
      json_.bad(shape, concat("has a size of \"", dtype, "\" elements that is not known or exceeds 64 bits"));
    const bool halved = format == "f32-to-bf16" && same(stored.dtype, {kDLFloat, 32, 1});
    if (format != "raw" && format != "f32-to-bf16")
      fail(OPD_UNSUPPORTED, path_, ": JSON at offset ", json_.offset(tensor), " has the format \"", format,
           "\"; raw and f32-to-bf16 are supported");
    const cJSON *size = need(tensor, "nbytes");
    const uint64_t needed = halved ? stored.bytes / 2 : stored.bytes, begin = number(need(tensor, "byteOffset"));
    if (number(size) != needed) json_.bad(size, concat("declares ", number(size), " bytes for a tensor of ", needed));
    if (needed > source->bytes().size() || begin > source->bytes().size() - needed)
      json_.bad(tensor, concat("lies outside of the ", source->bytes().size(), " bytes of ", source->name()));
    if (halved) stored.decode = widen;
    stored.source = source;
    stored.offset = begin;
    if (needed) extents.push_back({begin, begin + needed, tensor});
    if (!params_->add(name, std::move(stored))) json_.bad(tensor, concat("repeats the tensor \"", name, "\""));
  }

  // Tensors must not overlap: a write to one would change another.
  void check_overlap(std::vector<Extent> &extents) const {
    std::ranges::sort(extents, {}, &Extent::begin);
    for (size_t i = 1; i < extents.size(); ++i)
      if (extents[i].begin < extents[i - 1].end)
        json_.bad(extents[i].where,
                  concat("begins at ", extents[i].begin, ", within a tensor that ends at ", extents[i - 1].end));
  }

  const std::string &path_;
  const LoadOptions &options_;
  JsonDocument json_;
  Ref<Params> params_ = make_object<Params>();
};

// ---- writing: first shards of about 32 MiB, like TVM, then the JSON file

constexpr uint64_t kMostShard = uint64_t{32} << 20;

class CacheWriter {
 public:
  CacheWriter(const Params &params, const std::string &path)
      : params_(params), path_(path), directory_(path.substr(0, path.rfind('/') + 1)) {}

  void write() {
    json_.begin_object().key("metadata").begin_object().end_object().key("records").begin_array();
    size_t begin = 0;
    uint64_t size = 0;
    for (size_t i = 0; i < params_.size(); ++i) {
      require(is_utf8(params_.name(i)), "the parameter name \"", params_.name(i).substr(0, 100),
              "\" is not UTF-8, as the JSON of a tensor cache must be");
      if (size > 0 && params_.bytes(i) > kMostShard - std::min(size, kMostShard)) {
        write_shard(begin, i);
        begin = i;
        size = 0;
      }
      size += params_.bytes(i) + padding(params_.bytes(i), kAlignment);
    }
    if (begin < params_.size()) write_shard(begin, params_.size());
    json_.end_array().end_object();
    FileSink out(path_);
    out.write(json_.take());
    out.commit();
  }

 private:
  void write_shard(size_t begin, size_t end) {
    const std::string name = concat("params_shard_", count_++, ".bin");
    json_.begin_object().key("dataPath").value(name).key("format").value("raw-shard").key("records").begin_array();
    FileSink shard(directory_ + name);
    Md5 md5;
    for (size_t i = begin; i < end; ++i) {
      const Ref<Tensor> tensor = on_host(params_.tensor(i));
      const std::string zeros(padding(shard.offset(), kAlignment), '\0');
      shard.write(zeros);
      md5.add(as_bytes(zeros));
      describe_tensor(params_.name(i), tensor->dl, shard.offset());
      write_elements(shard, tensor->dl);
      md5.add({reinterpret_cast<const uint8_t *>(data_of(tensor->dl)), bytes_of(tensor->dl)});
    }
    shard.commit();
    json_.end_array().key("nbytes").value(shard.offset()).key("md5sum").value(md5.finish()).end_object();
  }

  void describe_tensor(const std::string &name, const DLTensor &tensor, uint64_t offset) {
    json_.begin_object().key("name").value(name).key("shape").begin_array();
    for (const int64_t size : dims_of(tensor)) json_.value(size);
    json_.end_array().key("dtype").value(dtype_name(tensor.dtype)).key("format").value("raw");
    json_.key("nbytes").value(bytes_of(tensor)).key("byteOffset").value(offset).end_object();
  }

  const Params &params_;
  const std::string &path_;
  const std::string directory_;
  JsonWriter json_;
  int count_ = 0;
};

}  // namespace

Ref<Params> read_tensor_cache(std::string_view json, const std::string &path, const LoadOptions &options) {
  return CacheReader(json, path, options).read();
}

void write_tensor_cache(const Params &params, const std::string &path) { CacheWriter(params, path).write(); }

}  // namespace opd
