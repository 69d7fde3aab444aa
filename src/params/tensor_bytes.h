// One tensor in TVM's binary form, used in parameter files and executables.
#pragma once
#include "base/byte_sink.h"
#include "params/stored_tensor.h"

namespace opd {

StoredTensor read_stored_tensor(ByteReader &in, const Ref<ByteSource> &source);  // `in` reads the source's bytes
Ref<Tensor> read_tensor(ByteReader &in);            // copied into the tensor's own aligned memory
std::string tensor_header(const DLTensor &tensor);  // `tensor` must be compact and on the CPU
void write_tensor(ByteWriter &out, const DLTensor &tensor);
inline void write_elements(ByteSink &out, const DLTensor &tensor) {  // `tensor` must be compact and on the CPU
  out.write(data_of(tensor), bytes_of(tensor));
}

}  // namespace opd
