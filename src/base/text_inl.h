// Definitions of the templates that base/text.h declares.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

namespace opd {

template <class Names>
std::string suggestion(std::string_view wanted, const Names &names) {
  const size_t limit = std::max<size_t>(2, wanted.size() / 3);
  std::vector<std::pair<size_t, std::string_view>> close;
  for (const auto &name : names)
    if (size_t distance = edit_distance(wanted, name, limit); distance <= limit) close.emplace_back(distance, name);
  std::stable_sort(close.begin(), close.end(), [](auto &a, auto &b) { return a.first < b.first; });
  if (close.empty()) return "";
  std::string out = " Did you mean ";
  for (size_t i = 0; i < std::min<size_t>(3, close.size()); ++i) {
    if (i) out += ", ";
    out += close[i].second;
  }
  return out + "?";
}

}  // namespace opd
