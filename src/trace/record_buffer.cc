#include "trace/record_buffer.h"

#include <algorithm>

namespace opd {

RecordBuffer::RecordBuffer(uint64_t max_records) : clock_(tick_clock()), max_records_(max_records) {
  // Here and in grow() memory is touched before it is used: a page fault costs as much as ten records.
  grow();
  words_ = std::make_unique<int64_t[]>(word_room_ = 8 * kBlock);
}

bool RecordBuffer::grow() {
  const uint64_t left = max_records_ - std::min(max_records_, count_);
  if (left == 0) return false;
  blocks_.push_back(std::make_unique<Record[]>(kBlock));
  current_ = blocks_.back().get();
  used_ = 0;
  room_ = static_cast<size_t>(std::min<uint64_t>(kBlock, left));
  return true;
}

Record *RecordBuffer::describe_slowly(Args args) {
  size_t needed = 0;
  for (const View &arg : args)
    if (const DLTensor *tensor = try_dltensor(arg)) needed += 1 + static_cast<size_t>(tensor->ndim);
  if (needed == 0) return nullptr;
  if (used_ == room_ && !grow()) return ++dropped_, nullptr;
  if (word_room_ - words_used_ < needed) {
    const size_t room = std::max({2 * word_room_, words_used_ + needed, 8 * kBlock});
    auto larger = std::make_unique_for_overwrite<int64_t[]>(room);
    std::copy_n(words_.get(), words_used_, larger.get());
    words_ = std::move(larger);
    word_room_ = room;
  }
  return fill(args);
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
