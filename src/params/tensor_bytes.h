// One tensor in TVM's binary form, as parameter files and executables hold it.
#pragma once
#include <vector>

#include "base/bytes.h"
#include "value/tensor.h"

namespace opd {

struct StoredTensor {
  std::vector<int64_t> dims;
  DLDataType dtype{};
  Bytes data;  // its elements, where they were read
};

StoredTensor read_stored_tensor(ByteReader &in);
Ref<Tensor> copy_of(const StoredTensor &stored);
Ref<Tensor> read_tensor(ByteReader &in);  // copied into aligned memory of its own
void write_tensor(ByteWriter &out, const DLTensor &tensor);

}  // namespace opd
