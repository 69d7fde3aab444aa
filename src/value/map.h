// An immutable map in insertion order.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "value/value.h"

namespace opd {

struct Map : Object {
  static int32_t type() { return OPD_MAP; }

  struct Hash {
    size_t operator()(const View &v) const { return hash_content(v); }
  };
  struct Equal {
    bool operator()(const View &a, const View &b) const { return same_content(a, b); }
  };

  std::vector<std::pair<Value, Value>> entries;
  std::unordered_map<View, size_t, Hash, Equal> places;  // keys are views of those in `entries`

  static Ref<Map> make(Args pairs);  // key, value, key, value …
  const Value *find(const View &key) const;
};

}  // namespace opd
