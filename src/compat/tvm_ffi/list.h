// The mutable sequence: an Array whose items are in a separate memory block.
#pragma once
#include "value/value.h"

namespace opd {

struct List final : Array {
  static int32_t type() { return kList; }
  static Ref<List> make(Args items);
  void reserve(size_t capacity);
  // Replaces the items from `begin` to `end` with copies of `items`, which may belong to this list.
  void replace(size_t begin, size_t end, Args items);
};

// Returns the items of an Array or a List.
inline Array *try_sequence(const View &v) {
  return v.type == OPD_ARRAY || v.type == kList ? static_cast<Array *>(object_of(v)) : nullptr;
}
Array &as_sequence(const View &v, std::string_view what);

}  // namespace opd
