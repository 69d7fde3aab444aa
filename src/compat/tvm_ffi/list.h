// The mutable sequence: an Array whose items are in a separate memory block.
#pragma once
#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "value/value.h"

namespace opd {

struct List final : Array {
  static int32_t type() { return kList; }
  static Ref<List> make(Args items) {
    auto list = make_object<List>();
    list->reserve(std::max<size_t>(items.size(), 4));
    list->replace(0, 0, items);
    return list;
  }

  void reserve(size_t wanted) {
    if (wanted <= static_cast<size_t>(capacity)) return;
    void *grown = ::operator new(wanted * sizeof(Value));
    if (count) std::memcpy(grown, data, size() * sizeof(Value));  // values are trivially relocatable
    void *before = std::exchange(data, grown);
    auto *end = std::exchange(data_deleter, [](void *block) { ::operator delete(block); });
    capacity = static_cast<int64_t>(wanted);
    if (end) end(before);
  }

  // Replaces the items from `begin` to `end` with copies of `items`, which may belong to this list.
  void replace(size_t begin, size_t end, Args items) {
    std::vector<Value> fresh(items.begin(), items.end());
    const size_t rest = size() - end, size_after = begin + fresh.size() + rest;
    if (size_after > static_cast<size_t>(capacity)) reserve(std::max(size_after, 2 * static_cast<size_t>(capacity)));
    std::vector<Value> gone(end - begin);  // they are destroyed after the list is consistent again
    if (end > begin) std::memcpy(static_cast<void *>(gone.data()), Array::items() + begin, gone.size() * sizeof(Value));
    if (rest)
      std::memmove(static_cast<void *>(Array::items() + begin + fresh.size()), Array::items() + end,
                   rest * sizeof(Value));
    for (size_t i = 0; i < fresh.size(); ++i) new (Array::items() + begin + i) Value(std::move(fresh[i]));
    count = static_cast<int64_t>(size_after);
  }
};

// Returns the items of an Array or a List.
inline Array *try_sequence(const View &v) {
  return v.type == OPD_ARRAY || v.type == kList ? static_cast<Array *>(object_of(v)) : nullptr;
}
inline Array &as_sequence(const View &v, std::string_view what) {
  if (Array *sequence = try_sequence(v)) return *sequence;
  fail_type(what, "ffi.Array or ffi.List", v);
}

}  // namespace opd
