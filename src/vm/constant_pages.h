// The tensors of a program in pages that every load of it maps, rather than copies. A mapping is private: the kernel
// copies a page when somebody writes to it, so each load has constants of its own.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "params/tensor_bytes.h"

namespace opd {

class ConstantPages final : public Object {
 public:
  static int32_t type() { return OPD_OBJECT; }

  // Null where copies serve better: for few bytes, where memory cannot hold files, and if the process has memory hooks.
  static Ref<ConstantPages> make(std::span<const StoredTensor> tensors);
  ~ConstantPages();

  // A tensor for each of those it was made of. Cost: some 20 µs per MB.
  std::vector<Ref<Tensor>> map(std::span<const StoredTensor> tensors) const;
  bool serve(std::span<const StoredTensor> tensors) const;  // whether map() may be called

 private:
  int fd_ = -1;
  size_t size_ = 0;
};

// The tensors where kernels may read them. `derived`: null, or where the pages of an earlier load of the same program
// are, if there was one, and are left for the next.
std::vector<Ref<Tensor>> place_constants(std::span<const StoredTensor> tensors, Ref<Object> *derived);

}  // namespace opd
