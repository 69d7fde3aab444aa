// A table of a forward pass that kernels read: 32-bit integers, aligned to 64 bytes, which compiled code requires of
// every tensor. The table's memory is reused by the next pass.
#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace opd {

template <class T>
struct TensorAligned {
  using value_type = T;
  TensorAligned() = default;
  template <class U>
  TensorAligned(const TensorAligned<U> &) {}
  T *allocate(size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), std::align_val_t(64))); }
  void deallocate(T *data, size_t) noexcept { ::operator delete(data, std::align_val_t(64)); }
  bool operator==(const TensorAligned &) const { return true; }
};

using KvTable = std::vector<int32_t, TensorAligned<int32_t>>;

}  // namespace opd
