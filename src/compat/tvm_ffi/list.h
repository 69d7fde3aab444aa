// The sequence that can change: the cell of an Array with its items in a block of their own.
#pragma once
#include "value/value.h"

namespace opd {

struct List final : Array {
  static int32_t type() { return kList; }
  static Ref<List> make(Args items);
  void reserve(size_t capacity);
  // Puts copies of `items`, which may be its own, in the place of those from `begin` to `end`.
  void replace(size_t begin, size_t end, Args items);
};

// The items of an Array or a List.
inline Array *try_sequence(const View &v) {
  return v.type == OPD_ARRAY || v.type == kList ? static_cast<Array *>(object_of(v)) : nullptr;
}
Array &as_sequence(const View &v, std::string_view what);

}  // namespace opd
