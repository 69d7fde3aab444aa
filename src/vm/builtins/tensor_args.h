// Tensor arguments whose elements a builtin reads or writes itself.
#pragma once
#include <opdyno/dlpack.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "value/tensor.h"

namespace opd {

constexpr DLDataType kFloat32{kDLFloat, 32, 1}, kInt32{kDLInt, 32, 1}, kInt64{kDLInt, 64, 1};

// Returns the tensor of `v`, which must be compact and on the CPU. The error says so with `name`.
const DLTensor &compact_tensor(const View &v, std::string_view name, std::optional<DLDataType> dtype = {});
// The same for an argument that the builtin writes. It must not be read-only either.
const DLTensor &compact_output(const View &v, std::string_view name, std::optional<DLDataType> dtype = {});
// Returns the tensor if it lies on the CPU, else a copy that `out_copy` keeps. For small tensors that a builtin reads.
const DLTensor &on_host(const DLTensor &tensor, Ref<Tensor> &out_copy);
// Returns an axis of a tensor of rank `ndim`. Negative numbers count from the end.
int32_t axis_of(const View &v, int32_t ndim);

// Returns the elements of a compact tensor. The caller has checked that its dtype is T's.
template <class T>
std::span<T> elements(const DLTensor &tensor, std::string_view name) {
  const auto at = reinterpret_cast<uintptr_t>(data_of(tensor));
  const uint64_t count = count_of(tensor);
  require(count == 0 || at % alignof(T) == 0, name, " must be aligned to ", alignof(T),
          " bytes, but lies at an address that is not");
  return {reinterpret_cast<T *>(at), count};
}

// A tensor seen along one axis: `before` × `size` × `after` elements.
struct AxisView {
  int64_t before, size, after;
  int64_t lines;  // before × after
  AxisView(const DLTensor &tensor, int32_t axis);
};

// ---- keys that map numbers of any dtype to int64 in the same order, so that sorting is written once

// The sort keys of one dtype. 0 and -0 have the same key. NaNs come last in both directions.
class SortKeys {
 public:
  // Supports integers and bool of 8 to 64 bits, float16, bfloat16, float32 and float64. Throws with `name` for others.
  SortKeys(DLDataType dtype, std::string_view name);

  // Writes the keys of `count` elements that are `stride` elements apart.
  void load(const char *from, int64_t stride, int64_t count, int64_t *out) const { load_(from, stride, count, out); }
  int64_t descending(int64_t key) const { return is_float_ && key == INT64_MAX ? key : ~key; }
  int64_t zero() const { return zero_; }

 private:
  void (*load_)(const char *from, int64_t stride, int64_t count, int64_t *out) = nullptr;
  bool is_float_ = false;
  int64_t zero_ = 0;
};

struct Ranked {
  int64_t key, index;
  friend bool operator<(const Ranked &a, const Ranked &b) { return a.key != b.key ? a.key < b.key : a.index < b.index; }
};

}  // namespace opd
