// The number of operations of recorded calls. An estimate takes microseconds, so it is made once per name and shapes.
#pragma once
#include <optional>
#include <unordered_map>

#include "report/operator_cost.h"
#include "trace/model/shape_cache.h"

namespace opd {

class EventCosts {
 public:
  // None: not a call of a known operator.
  std::optional<double> flop(const Event &event) {
    if (event.kind != EventKind::kCall || !event.num_tensors) return std::nullopt;
    const auto [place, fresh] = known_.try_emplace(uint64_t{event.name} << 32 | shapes_.of(event));
    if (fresh) place->second = operator_cost(name_text(event.name), shapes_text(event)).flop;
    return place->second;
  }

 private:
  ShapeNumbers shapes_;
  std::unordered_map<uint64_t, std::optional<double>> known_;  // by name and shapes
};

}  // namespace opd
