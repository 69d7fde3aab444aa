// A tensor as a file holds it: known by name, shape and dtype, and made when it is asked for.
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
  uint64_t offset = 0;                                      // where the elements lie as they are, unless …
  std::function<Ref<Tensor>(const StoredTensor &)> decode;  // … this makes them of what the file holds

  Bytes elements() const { return source->bytes().subspan(offset, bytes); }  // unless they are decoded
  // Whether the tensor is a view of the source. A kernel needs its elements at a multiple of 64.
  bool is_view() const;
};

// Gives views where they can be, else copies; one call for many tensors, since large ones are read by several threads.
// With `always_copy` nothing of the result points into a source. Fails with OPD_OUT_OF_MEMORY, before anything is
// allocated, if the copies exceed the memory that this process may use.
std::vector<Ref<Tensor>> make_tensors(std::span<const StoredTensor *const> stored, bool always_copy);

// Asks for huge pages in a large block that is about to be written: 4-KiB faults cost more than copying.
void advise_huge_pages(void *data, size_t size) noexcept;

}  // namespace opd
