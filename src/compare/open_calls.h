// Pairs an instrument's data from before a call with its data from after the same call.
#pragma once
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "value/value.h"

namespace opd {

// The address of the arguments identifies a call: it is the same before and after the call, and differs among calls
// that are under way. If a foreign function calls a program and catches its error, the calls in it have no end.
template <class Call>
class OpenCalls {
 public:
  Call &begin(Args args) { return calls_.emplace_back(args.data(), Call()).second; }
  // Returns the call, and drops those that began in it and have no end. Returns nothing for a call that began unseen.
  std::optional<Call> end(Args args) {
    const auto found =
        std::find_if(calls_.rbegin(), calls_.rend(), [&](const auto &open) { return open.first == args.data(); });
    if (found == calls_.rend()) return std::nullopt;
    std::optional<Call> call = std::move(found->second);
    calls_.erase(std::prev(found.base()), calls_.end());
    return call;
  }
  template <class Is>
  bool any_of(const Is &is) const {
    return std::ranges::any_of(calls_, [&](const auto &open) { return is(open.second); });
  }
  void clear() { calls_.clear(); }

 private:
  std::vector<std::pair<const View *, Call>> calls_;
};

}  // namespace opd
