// The signature of a compiled kernel, as a module's JSON gives it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dim.h"

namespace opd::cli {

// What a kernel takes as one argument; nothing where it is no tensor.
struct KernelArgument {
  std::string dtype;
  std::vector<Dim> dims;
};
using Signature = std::vector<std::optional<KernelArgument>>;

// Reads "add(x: Tensor([T.int64(4), n], float32), size: T.int64)". An argument whose sizes are neither numbers nor
// names counts as none.
Signature read_signature(std::string_view text);

}  // namespace opd::cli
