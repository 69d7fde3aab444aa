// A size of a tensor: a number, or a name whose number comes from --dim or another argument.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cli/support/text.h"

namespace opd::cli {

using Dim = std::variant<int64_t, std::string>;
using DimValues = std::map<std::string, int64_t, std::less<>>;

inline std::string dims_text(const std::vector<Dim> &dims) {
  std::vector<std::string> parts;
  for (const Dim &dim : dims) parts.push_back(std::visit([](const auto &size) { return cat(size); }, dim));
  return cat("[", join(parts, ", "), "]");
}

inline std::string dims_text(const int64_t *dims, int ndim) { return dims_text(std::vector<Dim>(dims, dims + ndim)); }

}  // namespace opd::cli
