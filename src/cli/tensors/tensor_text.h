// Tensors as text: rows of aligned numbers. The middle of a large tensor is left out.
#pragma once
#include <string>

#include "cli/support/face.h"

namespace opd::cli {

// `tensor` must be on the CPU. With `full` every element is shown. Otherwise a tensor of more than 1000 elements shows
// the first and last three of each dimension. A dtype without numbers gives "".
std::string tensor_text(const Tensor &tensor, bool full);

// "float32[2, 3]".
std::string tensor_type(const Tensor &tensor);

}  // namespace opd::cli
