// One tensor in TVM's binary form, as parameter files and executables hold it.
#pragma once
#include "base/bytes.h"
#include "value/tensor.h"

namespace opd {

Ref<Tensor> read_tensor(ByteReader &in);  // copied into aligned memory of its own
void write_tensor(ByteWriter &out, const DLTensor &tensor);

}  // namespace opd
