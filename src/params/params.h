// Named tensors, in order, and the files that hold them.
#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "value/tensor.h"

namespace opd {

struct Params : Object {
  static int32_t type();  // "opdyno.Params"

  size_t size() const { return entries_.size(); }
  const std::string &name(size_t i) const { return entries_[i].name; }
  const Ref<Tensor> &tensor(size_t i) const { return entries_[i].tensor; }
  const Ref<Tensor> &get(std::string_view name) const;  // throws OPD_NOT_FOUND with close names
  bool add(std::string_view name, Ref<Tensor> tensor);  // false, and nothing done, if there is one of that name
  void set(std::string_view name, Ref<Tensor> tensor);  // adds, or replaces in place

 private:
  struct Entry {
    std::string name;
    Ref<Tensor> tensor;
  };
  std::deque<Entry> entries_;  // which stay in place, as the names given out do
  std::unordered_map<std::string_view, size_t> places_;
};

// The content tells the format: TVM param dict, .npy (one tensor, named ""), .npz. `what` names the bytes in messages.
Ref<Params> load_params(const std::string &path);
Ref<Params> load_params(Bytes bytes, const char *what);
// The suffix tells the format: .npz, .npy (exactly one tensor), else a TVM param dict.
void save_params(const Params &params, const std::string &path);

inline constexpr uint64_t kParamDictMagic = 0xF7E58D4F05049CB7;
Ref<Params> read_param_dict(Bytes bytes, const char *what);
std::string write_param_dict(const Params &params);
Ref<Params> read_npz(Bytes bytes, const char *what);
std::string write_npz(const Params &params);

// The tensor itself if it lies compactly on the CPU, else a copy that does.
Ref<Tensor> on_host(Ref<Tensor> tensor);

}  // namespace opd
