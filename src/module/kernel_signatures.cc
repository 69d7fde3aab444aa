#include "module/kernel_signatures.h"

namespace opd {

KernelSignatures::KernelSignatures(std::span<const Bytes> constants) {
  constexpr std::string_view kTensor = ": Tensor(";  // every kernel takes at least one tensor
  for (const Bytes bytes : constants) {
    const std::string_view all(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    size_t end = 0;
    for (size_t at; (at = all.find(kTensor, end)) != std::string_view::npos;) {
      const size_t zero = all.rfind('\0', at);
      const size_t begin = zero == std::string_view::npos || zero < end ? end : zero + 1;
      end = std::min(all.find('\0', at), all.size());
      const std::string_view text = all.substr(begin, end - begin);
      const size_t open = text.find('(');
      if (text.ends_with(')')) texts_.try_emplace(text.substr(0, open), text);
    }
  }
}

std::string_view KernelSignatures::of(std::string_view kernel) const {
  const auto found = texts_.find(kernel);
  return found == texts_.end() ? std::string_view() : found->second;
}

}  // namespace opd
