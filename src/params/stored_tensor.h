// A tensor in a file: shape and dtype are known, the tensor itself is made when it is requested.
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
  uint64_t offset = 0;                                      // of the elements in the source; unused with `decode`
  std::function<Ref<Tensor>(const StoredTensor &)> decode;  // if set, makes the tensor from the file's encoding

  Bytes elements() const { return source->bytes().subspan(offset, bytes); }  // not with `decode`
  // True if the tensor can be a view of the source: kernels need elements at a multiple of 64.
  bool is_view() const;
};

// Makes views if possible, else copies. One call makes many tensors, so that several threads can read large ones. With
// `always_copy`, no result points into a source. If the copies exceed the memory that this process may use, the
// function throws OPD_OUT_OF_MEMORY before it allocates anything.
std::vector<Ref<Tensor>> make_tensors(std::span<const StoredTensor *const> stored, bool always_copy);

}  // namespace opd
