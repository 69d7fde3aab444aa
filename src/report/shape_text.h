// Shapes of tensors as written in reports: "float32[1, 64], int64[]".
#pragma once
#include <algorithm>
#include <string_view>

namespace opd {

struct ShapeText {
  std::string_view dtype, dims;  // "float32" and "[1, 64]"
};

// Removes the first shape from `rest` and returns it.
inline ShapeText take_shape(std::string_view &rest) {
  size_t end = 0;  // after the tensor's last bracket: "custom[12]8[2]" has two pairs
  do end = rest.find(']', end) + 1;
  while (end && end < rest.size() && rest[end] != ',');
  const std::string_view shape = rest.substr(0, end ? end : rest.size());
  rest.remove_prefix(std::min(rest.size(), shape.size() + 2));
  const size_t bracket = std::min(shape.rfind('['), shape.size());
  return {shape.substr(0, bracket), shape.substr(bracket)};
}

}  // namespace opd
