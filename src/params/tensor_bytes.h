// One tensor in TVM's binary form, as parameter files and executables hold it.
#pragma once
#include <vector>

#include "base/bytes.h"
#include "value/tensor.h"

namespace opd {

struct TensorHeader {
  DLDataType dtype{};
  std::vector<int64_t> dims;
  uint64_t bytes = 0;   // compact size of the elements
  uint64_t stored = 0;  // how much of the file they take, at least as much
};

TensorHeader read_tensor_header(ByteReader &in);    // the elements, which follow, are known to be there
std::string tensor_header(const DLTensor &tensor);  // `tensor` must lie compactly on the CPU

struct TensorInBytes {
  std::vector<int64_t> dims;
  DLDataType dtype{};
  Bytes data;  // its elements, where they were read
};

TensorInBytes read_tensor_in_place(ByteReader &in);
Ref<Tensor> copy_of(const TensorInBytes &stored);
Ref<Tensor> read_tensor(ByteReader &in);  // copied into aligned memory of its own
void write_tensor(ByteWriter &out, const DLTensor &tensor);

}  // namespace opd
