#include "params/formats.h"

#include <sys/stat.h>

#include "base/file.h"
#include "params/npy.h"
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

}  // namespace opd
