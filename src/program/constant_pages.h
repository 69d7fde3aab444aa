// The constant tensors of a program in a memory file. Each load maps it instead of copying. Mappings are private (copy
// on write), so each load has its own constants.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "params/tensor_bytes.h"

namespace opd {

class ConstantPages final : public Object {
 public:
  static int32_t type() { return OPD_OBJECT; }

  // Returns null if copies are better: there are few bytes, no memory file can be made, or the process has memory
  // hooks.
  static Ref<ConstantPages> make(std::span<const StoredTensor> tensors);
  ~ConstantPages();

  // Maps the tensors that were passed to make(). Cost: two system calls. The first use of a page maps it and its
  // neighbours.
  std::vector<Ref<Tensor>> map(std::span<const StoredTensor> tensors) const;
  bool serve(std::span<const StoredTensor> tensors) const;  // whether map() may be called

 private:
  int fd_ = -1;
  size_t size_ = 0;
};

// Puts the tensors into memory that kernels may read. `*derived` is null or holds the pages of an earlier load of the
// same program. It receives the pages for the next load. If `derived` itself is null, the tensors are copied.
std::vector<Ref<Tensor>> place_constants(std::span<const StoredTensor> tensors, Ref<Object> *derived);

}  // namespace opd
