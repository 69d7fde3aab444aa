#include "params/params.h"

#include "base/file.h"
#include "device/device.h"
#include "params/npy.h"

namespace opd {

int32_t Params::type() {
  static const int32_t index = register_type("opdyno.Params");
  return index;
}

const Ref<Tensor> &Params::get(std::string_view name) const {
  const auto found = places_.find(name);
  if (found != places_.end()) return entries_[found->second].tensor;
  std::vector<std::string_view> names;
  for (const auto &entry : entries_) names.push_back(entry.name);
  fail(OPD_NOT_FOUND, "there is no parameter \"", name, "\" among ", size(), ".", suggestion(name, names));
}

bool Params::add(std::string_view name, Ref<Tensor> tensor) {
  if (places_.contains(name)) return false;
  entries_.push_back({std::string(name), std::move(tensor)});
  places_.emplace(entries_.back().name, entries_.size() - 1);
  return true;
}

void Params::set(std::string_view name, Ref<Tensor> tensor) {
  const auto found = places_.find(name);
  if (found == places_.end()) add(name, std::move(tensor));
  else entries_[found->second].tensor = std::move(tensor);
}

Ref<Tensor> on_host(Ref<Tensor> tensor) {
  if (tensor->dl.device.device_type == kDLCPU && is_contiguous(tensor->dl)) return tensor;
  auto copy = make_tensor(dims_of(tensor->dl), tensor->dl.dtype, kHost);
  copy_tensor(tensor->dl, copy->dl);
  return copy;
}

// ---- files

Ref<Params> load_params(Bytes bytes, const char *what) {
  const std::string_view text = as_text(bytes);
  if (text.starts_with(kNpyMagic)) {
    auto params = make_object<Params>();
    params->add("", read_npy(bytes, what));
    return params;
  }
  if (text.starts_with("PK\3\4") || text.starts_with("PK\5\6")) return read_npz(bytes, what);
  ByteReader reader(bytes, what);
  if (reader.read<uint64_t>("magic number") == kParamDictMagic) return read_param_dict(bytes, what);
  ByteReader(bytes, what).bad("magic number", "belongs neither to a TVM param dict nor to an .npy or .npz file");
}

Ref<Params> load_params(const std::string &path) {
  const MappedFile file(path);
  return load_params(file.bytes(), path.c_str());
}

void save_params(const Params &params, const std::string &path) {
  if (path.ends_with(".npz")) return replace_file(path, write_npz(params));
  if (!path.ends_with(".npy")) return replace_file(path, write_param_dict(params));
  require(params.size() == 1, "an .npy file holds exactly one tensor, not ", params.size(),
          "; save them as .npz instead of ", path);
  replace_file(path, write_npy(params.tensor(0)->dl));
}

}  // namespace opd
