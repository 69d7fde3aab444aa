#include "value/map.h"

namespace opd {

Ref<Map> Map::make(Args pairs) {
  auto map = make_object<Map>();
  map->entries.reserve(pairs.size() / 2);  // no entry moves, so views of small strings stay valid
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (auto found = map->places.find(pairs[i]); found != map->places.end()) {
      map->entries[found->second].second = Value(pairs[i + 1]);
      continue;
    }
    map->entries.emplace_back(Value(pairs[i]), Value(pairs[i + 1]));
    map->places.emplace(map->entries.back().first.view(), map->entries.size() - 1);
  }
  return map;
}

const Value *Map::find(const View &key) const {
  const auto found = places.find(key);
  return found == places.end() ? nullptr : &entries[found->second].second;
}

}  // namespace opd
