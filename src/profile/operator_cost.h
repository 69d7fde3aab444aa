// How many arithmetic operations and bytes an operator needs, by its name and the shapes of its arguments.
#pragma once
#include <optional>
#include <string_view>

namespace opd {

struct OperatorCost {
  std::optional<double> flop;  // none: the operator is not known
  double bytes = 0;            // of all tensors, each once
};

// `name` as TVM gives it, `shapes` as reports have them. Throws what a function of the user raised.
OperatorCost operator_cost(std::string_view name, std::string_view shapes);

}  // namespace opd
