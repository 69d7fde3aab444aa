// Maps numbers of any dtype to int64 keys of the same order, so that sorting is written once.
#pragma once
#include <opdyno/dlpack.h>

#include <cstdint>
#include <string_view>

namespace opd {

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
