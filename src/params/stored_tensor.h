// A tensor in a file. Its shape and dtype are known. The tensor itself is made on request.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "params/byte_source.h"
#include "value/tensor.h"

namespace opd {

struct StoredTensor {
  DLDataType dtype{};
  std::vector<int64_t> dims;
  uint64_t bytes = 0;  // compact size of the elements
  Ref<ByteSource> source;
  uint64_t offset = 0;  // offset of the elements in the source; unused with `decode`
  std::function<Ref<Tensor>(const StoredTensor &)> decode;  // if set, makes the tensor from the file's encoding

  Bytes elements() const { return source->bytes().subspan(offset, bytes); }  // requires that `decode` is not set
  // Whether the tensor can be a view of the source: kernels need elements at a multiple of 64.
  bool is_view() const;
};

// Makes views if possible, otherwise copies. One call makes many tensors, so that several threads can read large ones.
// If `always_copy`, no result points into a source. If the copies would exceed the memory that this process may use,
// throws OPD_OUT_OF_MEMORY before it allocates anything.
std::vector<Ref<Tensor>> make_tensors(std::span<const StoredTensor *const> stored, bool always_copy);

}  // namespace opd
