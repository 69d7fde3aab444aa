// The signatures of compiled kernels, from the kernels' error messages.
//
// A kernel's message for a wrong argument contains the whole signature. TVM stores that text among the constants of the
// library: "add(x: Tensor([T.int64(4)], float32), y: Tensor([T.int64(4)], float32))". Nothing else in a library
// describes the arguments of its kernels. The text is read without a call: a kernel that does not check its arguments
// must not be called with wrong ones.
#pragma once
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"

namespace opd {

class KernelSignatures {
 public:
  explicit KernelSignatures(std::span<const Bytes> constants);  // `constants` must outlive it. Cost: one search
  std::string_view of(std::string_view kernel) const;           // "" if there is none

 private:
  std::unordered_map<std::string_view, std::string_view> texts_;  // keys are the kernels' names
};

}  // namespace opd
