// The signatures of compiled kernels: what each takes, as TVM writes it into the kernel's own error messages.
//
// A kernel's message for a wrong argument names the whole signature, so that text lies among the constants of its
// library: "add(x: Tensor([T.int64(4)], float32), y: Tensor([T.int64(4)], float32))". Nothing else in a library says
// what its kernels take. It is read, not asked for: a kernel that does not check its arguments must not be called to
// see.
#pragma once
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"

namespace opd {

class KernelSignatures {
 public:
  explicit KernelSignatures(std::span<const Bytes> constants);  // which must outlive this. Cost: one search of them
  std::string_view of(std::string_view kernel) const;           // "" if there is none

 private:
  std::unordered_map<std::string_view, std::string_view> texts_;  // by the kernel's name
};

}  // namespace opd
