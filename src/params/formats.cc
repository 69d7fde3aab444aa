#include "params/formats.h"

#include <sys/stat.h>

#include "base/file.h"
#include "params/npy.h"
#include "params/tensor_bytes.h"
#include "trace/record/library_range.h"

namespace opd {
namespace {

// TVM up to 0.21 used the second name
constexpr const char *kCacheNames[] = {"tensor-cache.json", "ndarray-cache.json"};

// If `path` is a directory, returns the cache's JSON file in it. Otherwise returns `path`.
std::string file_at(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) || !S_ISDIR(info.st_mode)) return path;
  for (const char *name : kCacheNames)
    if (std::string file = concat(path, path.ends_with('/') ? "" : "/", name); ::stat(file.c_str(), &info) == 0)
      return file;
  fail(OPD_INVALID_ARGUMENT, "cannot read ", path, ": neither a regular file nor a directory with ", kCacheNames[0],
       " or ", kCacheNames[1]);
}

constexpr uint64_t kParamDictMagic = 0xF7E58D4F05049CB7;

// TVM's param dict: names, then tensors in the same order. TVM reads it strictly in sequence and refuses other sizes,
// so there is no room for padding. The position of the tensors follows from the names before them.
Ref<Params> read_param_dict(Ref<ByteSource> source) {
  const char *what = source->name();
  ByteReader in(source->bytes(), what);
  in.read<uint64_t>("param dict magic number");
  in.read<uint64_t>("param dict header");
  std::vector<std::string_view> names(in.read_count(8, "parameter names"));
  for (auto &name : names) name = in.read_string("parameter name");
  const size_t place = in.offset();
  const auto count = in.read<uint64_t>("number of tensors");
  if (count != names.size())
    fail(OPD_BAD_FORMAT, what, ": the number of tensors at offset ", place, " is ", count, ", but there are ",
         names.size(), " names");
  auto params = make_object<Params>();
  for (const auto name : names)
    if (!params->add(name, read_stored_tensor(in, source)))
      in.bad("parameter name", concat("\"", name, "\" occurs twice"));
  if (!in.at_end()) in.bad("end of the param dict", concat("is followed by ", in.remaining(), " more bytes"));
  return params;
}

Ref<Params> read(const Ref<ByteSource> &source, const LoadOptions &options) {
  const Bytes bytes = source->bytes();
  if (as_text(bytes).starts_with(kNpyMagic)) {
    auto params = make_object<Params>();
    params->add("", read_npy(source, 0, bytes.size(), source->name()));
    return params;
  }
  if (is_npz(bytes)) return read_npz(source, options.verify_checksums);
  if (is_safetensors(bytes)) return read_safetensors(source);
  if (as_text(bytes).starts_with('{'))
    fail(OPD_UNSUPPORTED, source->name(),
         ": JSON, perhaps of a tensor cache; open its directory, where the shards lie");
  if (ByteReader(bytes, source->name()).read<uint64_t>("magic number") == kParamDictMagic)
    return read_param_dict(source);
  ByteReader(bytes, source->name())
      .bad("magic number", "belongs neither to a TVM param dict nor to an .npy, .npz or .safetensors file");
}

}  // namespace

Ref<Params> load_params(const std::string &given, const LoadOptions &options) {
  const std::string path = file_at(given);
  const LibraryRange range("open", path);
  Ref<ByteSource> source = ByteSource::map(path, !options.copy);
  if (!is_safetensors(source->bytes()) && as_text(source->bytes()).starts_with('{')) {
    const std::string json(as_text(source->bytes()));
    source = nullptr;
    return read_tensor_cache(json, path, options);
  }
  return load_params(std::move(source), options);
}

Ref<Params> load_params(Ref<ByteSource> source, const LoadOptions &options) {
  Ref<Params> params = read(source, options);
  if (options.copy) params->copy_all();
  else if (options.prefetch) source->prefetch();
  return params;
}

void save_params(const Params &params, const std::string &path) {
  if (path.ends_with(kCacheNames[0])) return write_tensor_cache(params, path);
  const bool is_npy = path.ends_with(".npy");
  require(!is_npy || params.size() == 1, "an .npy file holds exactly one tensor, not ", params.size(),
          "; save them as .npz instead of ", path);
  FileSink out(path);
  if (is_npy) write_npy(on_host(params.tensor(0))->dl, out);
  else if (path.ends_with(".npz")) write_npz(params, out);
  else if (path.ends_with(".safetensors")) write_safetensors(params, out);
  else write_param_dict(params, out);
  out.commit();
}

void write_param_dict(const Params &params, ByteSink &out) {
  ByteWriter head;
  head.write(kParamDictMagic);
  head.write<uint64_t>(0);
  head.write<uint64_t>(params.size());
  for (size_t i = 0; i < params.size(); ++i) head.write_string(params.name(i));
  head.write<uint64_t>(params.size());
  uint64_t size = head.size();
  for (size_t i = 0; i < params.size(); ++i) size += params.bytes(i) + 40 + 8 * params.dims(i).size();
  out.reserve(size);
  out.write(head.take());
  for (size_t i = 0; i < params.size(); ++i) {
    const Ref<Tensor> tensor = on_host(params.tensor(i));
    out.write(tensor_header(tensor->dl));
    write_elements(out, tensor->dl);
  }
}

}  // namespace opd
