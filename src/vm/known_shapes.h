// A cache of tensor templates by the address of the shape constant. Compiled code makes tensors of the same few shapes
// again and again.
#pragma once
#include <algorithm>
#include <bit>
#include <map>

#include "vm/pool.h"

namespace opd {

class KnownShapes {
 public:
  KnownShapes(RunPool &pool, std::span<const View> constants) : pool_(pool) {
    for (const View &constant : constants)
      if (constant.type == OPD_SHAPE) shapes_.push_back(static_cast<const Shape *>(object_of(constant)));
    std::sort(shapes_.begin(), shapes_.end());
  }

  // Returns null if the shape is not a constant, or if no tensor can have it.
  const TensorTemplate *find(const Shape &shape, DLDataType dtype) {
    const TensorTemplate *known = recent(shape, dtype);
    return known ? known : look_up(shape, dtype);
  }
  // Looks only at recent finds. May return null for a known shape.
  const TensorTemplate *recent(const Shape &shape, DLDataType dtype) const noexcept {
    const auto bits = std::bit_cast<uint32_t>(dtype);
    const Entry &entry = recent_[place_of(shape, bits)];
    return entry.shape == &shape && entry.dtype == bits ? entry.known : nullptr;
  }

 private:
  struct Entry {
    const Shape *shape = nullptr;
    uint32_t dtype = 0;
    const TensorTemplate *known = nullptr;
  };
  static constexpr size_t kRecent = 32;
  static size_t place_of(const Shape &shape, uint32_t dtype) {  // the second byte of a dtype is its number of bits
    return (reinterpret_cast<uintptr_t>(&shape) / 16 + (dtype >> 8) / 8) % kRecent;
  }
  const TensorTemplate *look_up(const Shape &shape, DLDataType dtype);

  RunPool &pool_;
  std::vector<const Shape *> shapes_;  // by address
  std::map<std::pair<const Shape *, uint32_t>, std::unique_ptr<TensorTemplate>> templates_;
  Entry recent_[kRecent];
};

}  // namespace opd
