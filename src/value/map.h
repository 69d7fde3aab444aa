// Maps in insertion order: up to four entries in an array, more in a hash table. The layout and its rules are those of
// tvm-ffi's Map (immutable) and Dict, because C++ compiled with its headers accesses maps directly. Cost: a lookup
// takes one hash and usually one comparison. Inserts keep a table at most 99 % full.
#pragma once
#include <utility>

#include "value/value.h"

namespace opd {

struct Map : Object {
  static int32_t type() { return OPD_MAP; }

  struct Entry {
    Value key, value;
  };

  void *data = nullptr;  // Entry[] if small, else blocks of a table
  uint64_t count = 0;
  uint64_t slots = kSmall;                     // if the map is small, the bit kSmall is set
  void (*data_deleter)(void *data) = nullptr;  // null: the data are part of the object
  // Only a table uses these members. A small map has room for them, because it may become a table.
  uint32_t shift = 63;
  uint64_t first = kNone, last = kNone;

  static constexpr uint64_t kSmall = uint64_t{1} << 63;
  static constexpr uint64_t kNone = UINT64_MAX;

  Map() = default;
  Map(const Map &) = delete;
  ~Map();

  static Ref<Map> make(Args pairs);  // key, value, key, value …
  const Value *find(const View &key) const;
  void insert(const View &key, const View &value);  // replaces the value of an existing key
  bool erase(const View &key);
  void clear();

  // A place identifies an entry until the map changes. Iteration:
  // for (auto at = m.begin(); at != m.end(); at = m.next(at)) m.at(at)
  uint64_t begin() const { return is_small() ? (count ? 0 : kNone) : (count ? first : kNone); }
  uint64_t end() const { return kNone; }
  uint64_t next(uint64_t place) const;
  Entry &at(uint64_t place) const;

 private:
  bool is_small() const { return slots & kSmall; }
  uint64_t place_of(const View &key) const;
  void become_table(uint64_t wanted_slots);
};
static_assert(sizeof(Map) == 80);

struct Dict : Map {
  static int32_t type() { return kDict; }
};

// Returns the map of a Map or a Dict; null for other kinds.
inline Map *try_map(const View &v) {
  return v.type == OPD_MAP || v.type == kDict ? static_cast<Map *>(object_of(v)) : nullptr;
}

}  // namespace opd
