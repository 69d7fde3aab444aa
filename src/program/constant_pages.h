// The constant tensors of a program in a memory file that every load maps instead of copying. Mappings are private
// (copy on write), so each load has constants of its own.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "params/tensor_bytes.h"

namespace opd {

class ConstantPages final : public Object {
 public:
  static int32_t type() { return OPD_OBJECT; }

  // Null if copies are better: for few bytes, if no memory file can be made, and if the process has memory hooks.
  static Ref<ConstantPages> make(std::span<const StoredTensor> tensors);
  ~ConstantPages();

  // Maps the tensors, which must be those passed to make(). Cost: two system calls; the first use of a page maps it and
  // its neighbours.
  std::vector<Ref<Tensor>> map(std::span<const StoredTensor> tensors) const;
  bool serve(std::span<const StoredTensor> tensors) const;  // whether map() may be called

 private:
  int fd_ = -1;
  size_t size_ = 0;
};

// Puts the tensors into memory that kernels may read. `derived` holds the pages of an earlier load of the same program,
// or null, and receives the pages for the next load. If `derived` itself is null, tensors are copied.
std::vector<Ref<Tensor>> place_constants(std::span<const StoredTensor> tensors, Ref<Object> *derived);

}  // namespace opd
