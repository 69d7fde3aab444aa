/** @file params.hpp  Named tensors in a file or in memory. */
#ifndef OPDYNO_PARAMS_HPP_
#define OPDYNO_PARAMS_HPP_

#include <opdyno/params.h>

#include <opdyno/tensor.hpp>

namespace opdyno {

class Params : public Handle<opd_params> {
 public:
  using Handle::Handle;
  /** Makes an empty set. */
  static Params create() { return made<Params>(opd_params_create); }
  static Params load(const std::string &path) { return open(path, nullptr); }
  static Params open(const std::string &path, const opd_params_options *options) {
    return made<Params>(opd_params_open, path.c_str(), options);
  }
  /** Opens the bytes of a file. Views of tensors keep the bytes alive. */
  static Params open_bytes(std::string bytes, const opd_params_options *options = nullptr) {
    auto kept = std::make_unique<std::string>(std::move(bytes));
    auto params = made<Params>(opd_params_open_bytes, static_cast<void *>(kept->data()), kept->size(), options,
                               static_cast<void *>(kept.get()), delete_as<std::string>);
    kept.release();
    return params;
  }
  void save(const std::string &path) const { check(opd_params_save(get(), path.c_str())); }
  std::string save_bytes() const { return text_of(opd_params_save_bytes, get()); }

  size_t size() const { return static_cast<size_t>(opd_params_count(get())); }
  opd_tensor_info info(size_t index) const {
    auto info = sized<opd_tensor_info>();
    check(opd_params_get_info(get(), count_of(index), &info));
    return info;
  }
  const char *name(size_t index) const { return info(index).name; }
  DLDataType dtype(size_t index) const { return info(index).dtype; }
  std::vector<int64_t> shape(size_t index) const {
    const opd_tensor_info is = info(index);
    return {is.shape, is.shape + is.ndim};
  }
  bool is_view(size_t index) const { return info(index).is_view != 0; }
  opd_params_stats stats() const {
    auto stats = sized<opd_params_stats>();
    check(opd_params_get_stats(get(), &stats));
    return stats;
  }
  Tensor get_tensor(const char *name) const { return made<Tensor>(opd_params_get, get(), name); }
  void set(const char *name, const Tensor &tensor) const { check(opd_params_set(get(), name, tensor.get())); }
};

}  // namespace opdyno
#endif
