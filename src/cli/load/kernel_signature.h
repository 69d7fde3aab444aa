// The signature of a compiled kernel, as written in a module's JSON.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/tensors/dim.h"

namespace opd::cli {

// A tensor argument of a kernel.
struct KernelArgument {
  std::string dtype;
  std::vector<Dim> dims;
};
using KernelSignature = std::vector<std::optional<KernelArgument>>;

// Reads "add(x: Tensor([T.int64(4), n], float32), size: T.int64)". An argument is empty if it is not a tensor, or if a
// size is neither a number nor a name.
KernelSignature read_kernel_signature(std::string_view text);

}  // namespace opd::cli
