// Makes tensors for inputs: random, counted, with given numbers, or from a file.
#pragma once
#include <string>
#include <vector>

#include "cli/support/face.h"
#include "cli/tensors/input_spec.h"

namespace opd::cli {

// Settings for making tensors.
struct TensorMaker {
  uint64_t seed = 0;
  DLDevice device = {kDLCPU, 0};

  // `what` names the input in messages; `stream` separates its random numbers from those of other inputs.
  Tensor make(const std::vector<int64_t> &dims, DLDataType dtype, const Fill &fill, std::string_view what,
              uint64_t stream) const;
  // The file's tensor as it is.
  Tensor read(const std::string &file, std::string_view what) const;
  Tensor to_device(Tensor tensor) const;
};

// A tensor that the CPU can read: `tensor` itself, or a copy.
Tensor to_cpu(const Tensor &tensor);

// The same bytes under another dtype of that size. NumPy's files hold bfloat16 and float8 as unsigned integers.
Tensor reinterpret(const Tensor &tensor, DLDataType dtype);
bool is_stored_as(DLDataType stored, DLDataType dtype);

// "path:key". A path may contain colons itself, so the shortest prefix that is a file is the path.
struct FileKey {
  std::string path;
  std::optional<std::string> key;
  explicit FileKey(const std::string &text);
};

// Loads the tensors of a params file, under the file's own names.
Params load_params(const std::string &path);

}  // namespace opd::cli
