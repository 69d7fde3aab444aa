#include "compat/tvm_ffi/list.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace opd {

Ref<List> List::make(Args items) {
  auto list = make_object<List>();
  list->reserve(std::max<size_t>(items.size(), 4));
  list->replace(0, 0, items);
  return list;
}

void List::reserve(size_t wanted) {
  if (wanted <= static_cast<size_t>(capacity)) return;
  void *grown = ::operator new(wanted * sizeof(Value));
  if (count) std::memcpy(grown, data, size() * sizeof(Value));  // values are trivially relocatable
  void *before = std::exchange(data, grown);
  auto *end = std::exchange(data_deleter, [](void *block) { ::operator delete(block); });
  capacity = static_cast<int64_t>(wanted);
  if (end) end(before);
}

void List::replace(size_t begin, size_t end, Args items) {
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

Array &as_sequence(const View &v, std::string_view what) {
  if (Array *sequence = try_sequence(v)) return *sequence;
  fail_type(what, "ffi.Array or ffi.List", v);
}

}  // namespace opd
