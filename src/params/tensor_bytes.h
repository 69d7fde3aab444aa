// One tensor in TVM's binary form, which parameter files and executables contain.
#pragma once
#include "base/byte_sink.h"
#include "params/stored_tensor.h"

namespace opd {

StoredTensor read_stored_tensor(ByteReader &in, const Ref<ByteSource> &source);  // `in` reads the source's bytes
Ref<Tensor> read_tensor(ByteReader &in);            // copied into aligned memory of its own
std::string tensor_header(const DLTensor &tensor);  // `tensor` must lie compactly on the CPU
void write_tensor(ByteWriter &out, const DLTensor &tensor);
inline void write_elements(ByteSink &out, const DLTensor &tensor) {  // `tensor` as above
  out.write(data_of(tensor), bytes_of(tensor));
}

}  // namespace opd
