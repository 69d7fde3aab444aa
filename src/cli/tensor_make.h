// Tensors made as an input asks for them: random, counted, given numbers, or out of a file.
#pragma once
#include <string>
#include <vector>

#include "face.h"
#include "input_spec.h"

namespace opd::cli {

// Where and how tensors are made.
struct TensorMaker {
  uint64_t seed = 0;
  DLDevice device = {kDLCPU, 0};

  // `what` names the input in messages; `stream` sets its random numbers apart from other inputs'.
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

// "path:key"; a path may hold colons itself, so the shortest one that is a file counts.
struct FileKey {
  std::string path;
  std::optional<std::string> key;
  explicit FileKey(const std::string &text);
};

// The tensors of a params file, by its own names.
Params load_params(const std::string &path);

}  // namespace opd::cli
