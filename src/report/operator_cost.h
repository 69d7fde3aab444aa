// Estimates the arithmetic operations and bytes of an operator from its name and the shapes of its arguments.
#pragma once
#include <optional>
#include <string_view>

namespace opd {

struct OperatorCost {
  std::optional<double> flop;  // none: unknown operator
  double bytes = 0;            // sum over all tensors, each counted once
};

// `name` as TVM writes it, `shapes` as in reports. Throws the errors of the user's own functions.
OperatorCost operator_cost(std::string_view name, std::string_view shapes);

}  // namespace opd
