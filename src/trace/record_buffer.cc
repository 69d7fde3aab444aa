#include "trace/record_buffer.h"

#include <algorithm>

namespace opd {

RecordBuffer::RecordBuffer(uint64_t max_records) : clock_(tick_clock()), max_records_(max_records) {
  grow();  // the first block is not taken inside what is measured
}

bool RecordBuffer::grow() {
  const uint64_t left = max_records_ - std::min(max_records_, count_);
  if (left == 0) return false;
  blocks_.push_back(std::make_unique_for_overwrite<Record[]>(kBlock));
  words_.reserve(words_.size() + 8 * kBlock);
  current_ = blocks_.back().get();
  used_ = 0;
  room_ = static_cast<size_t>(std::min<uint64_t>(kBlock, left));
  return true;
}

std::string RecordBuffer::shapes_text(const Record &record) const {
  std::string out;
  size_t at = record.shapes;
  for (uint32_t i = 0; i < record.num_tensors; ++i) {
    const auto word = static_cast<uint64_t>(words_[at++]);
    const DLDataType dtype{static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8), static_cast<uint16_t>(word >> 16)};
    const auto ndim = static_cast<size_t>(word >> 32);
    if (i) out += ", ";
    out += dtype_name(dtype);
    append_dims(out, {&words_[at], ndim});
    at += ndim;
  }
  return out;
}

}  // namespace opd
