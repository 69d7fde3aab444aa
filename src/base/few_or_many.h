// An array with room for kFew elements in the object itself. Only a larger one allocates memory.
#pragma once
#include <cstddef>
#include <memory>
#include <span>

namespace opd {

// The elements are default-initialised, so elements of plain types have no value yet.
template <class T, size_t kFew>
class FewOrMany {
 public:
  explicit FewOrMany(size_t count) : size_(count) {
    if (count > kFew) many_ = std::make_unique_for_overwrite<T[]>(count);
  }
  T *data() { return many_ ? many_.get() : few_; }
  std::span<T> get() { return {data(), size_}; }

 private:
  const size_t size_;
  T few_[kFew];
  std::unique_ptr<T[]> many_;
};

}  // namespace opd
