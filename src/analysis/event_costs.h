// The operations of recorded calls. The estimate takes microseconds, so it is made once for each name and shapes.
#pragma once
#include <optional>
#include <string_view>
#include <unordered_map>

#include "analysis/operator_cost.h"
#include "trace/shape_cache.h"

namespace opd {

// Numbers for distinct lists of tensors, from 1 on; 0: no tensor.
class ShapeNumbers {
 public:
  uint32_t of(const Event &event) {
    if (!event.num_tensors) return 0;
    return by_address_.of(event, [this](const Event &first) {
      const std::span<const int64_t> words = shape_words(first);
      const std::string_view key(reinterpret_cast<const char *>(words.data()), words.size_bytes());
      return by_words_.try_emplace(key, static_cast<uint32_t>(by_words_.size() + 1)).first->second;
    });
  }

 private:
  ShapeCache<uint32_t> by_address_;
  std::unordered_map<std::string_view, uint32_t> by_words_;  // keys lie in the trace
};

class EventCosts {
 public:
  // None: it is no call of a known operator.
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
