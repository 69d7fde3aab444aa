// Writes TVM's tensor cache: first shards of about 32 MiB, like TVM, then the JSON file.
#include "base/json_writer.h"
#include "device/device.h"
#include "params/formats.h"
#include "params/md5.h"
#include "params/tensor_bytes.h"

namespace opd {
namespace {

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

void write_tensor_cache(const Params &params, const std::string &path) { CacheWriter(params, path).write(); }

}  // namespace opd
