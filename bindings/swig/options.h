// Finds fields of options by name, for bindings that read options from a map of their language. Numbers of items are
// not fields, because they follow from the lists.
#pragma once
#include <opdyno/opdyno.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <tuple>
#include <vector>

namespace opdrules {

struct Field {
  const char *name;
  char kind;  // as in bindings/api/api.py
  size_t place;
  const char *handle;  // handles: the class
  int count_place;     // lists: the offset of the number of items; -1: none
  const char *like;    // lists without count_place: the list of the same length; "args": the call's arguments
};
using Fields = std::vector<Field>;

inline const Field *find(const Fields &fields, const char *name) {
  for (const Field &field : fields)
    if (std::strcmp(field.name, name) == 0) return &field;
  return nullptr;
}

template <class T>
void store(void *options, size_t place, const T &value) {
  std::memcpy(static_cast<char *>(options) + place, &value, sizeof value);
}

// Owns the lists to which options point.
class Lists {
 public:
  template <class T>
  std::vector<T> &make(size_t size) {
    return std::get<std::forward_list<std::vector<T>>>(all_).emplace_front(size);
  }
  template <class T>
  static void store(void *options, const Field &field, const std::vector<T> &list) {
    opdrules::store(options, field.place, list.empty() ? nullptr : list.data());
    if (field.count_place >= 0)
      opdrules::store(options, static_cast<size_t>(field.count_place), static_cast<int32_t>(list.size()));
  }

 private:
  template <class T>
  using Of = std::forward_list<std::vector<T>>;
  std::tuple<Of<const char *>, Of<DLDevice>, Of<void *>, Of<int32_t>, Of<int64_t>> all_;
};

#include "option_fields.h"  // made by bindings/api; has fields_of(const STRUCT *) for each struct of options

}  // namespace opdrules
