// A map from numbers to values that keeps only recent entries.
#pragma once
#include <cstddef>
#include <unordered_map>
#include <utility>

namespace opd {

// Holds calls of a device's library, by the number that a call and its work share. Old entries are dropped, because
// most calls submit no work, and the library may drop records of work.
template <class Number, class T>
class RecentMap {
 public:
  void add(Number number, const T &value) {
    constexpr size_t kMost = 1 << 16;
    if (newer_.size() >= kMost) older_ = std::exchange(newer_, {});
    newer_[number] = value;
  }
  const T *find(Number number) const {
    if (const auto found = newer_.find(number); found != newer_.end()) return &found->second;
    const auto found = older_.find(number);
    return found == older_.end() ? nullptr : &found->second;
  }
  void clear() { newer_.clear(), older_.clear(); }

 private:
  std::unordered_map<Number, T> newer_, older_;
};

}  // namespace opd
