#include "trace/call_event_buffer.h"

#include <algorithm>

namespace opd {

// Allocates zeroed memory before it is needed: a page fault costs as much as thirty records.
CallEventBuffer::CallEventBuffer(uint64_t max_records, bool all_calls)
    : clock_(tick_clock()), all_calls_(all_calls), max_records_(max_records) {
  next_block();
  grow_words(8 * kBlock);
}

bool CallEventBuffer::next_block() {
  const uint64_t left = max_records_ - std::min(max_records_, count_);
  if (left == 0) return false;
  const size_t next = count_ / kBlock;  // every block before it is full
  if (next == blocks_.size()) blocks_.push_back(std::make_unique<CallEvent[]>(kBlock));
  current_ = blocks_[next].get();
  used_ = 0;
  room_ = static_cast<size_t>(std::min<uint64_t>(kBlock, left));
  return true;
}

void CallEventBuffer::grow_words(size_t room) {
  auto larger = std::make_unique<int64_t[]>(room);
  std::copy_n(words_.get(), words_used_, larger.get());
  words_ = std::move(larger);
  word_room_ = room;
}

void CallEventBuffer::restart(uint64_t times) {
  // Computed in doubles, which cannot overflow. More room than max_records_ would be useless.
  const double records =
      std::min(static_cast<double>(count_) * static_cast<double>(times), static_cast<double>(max_records_));
  const size_t words = words_used_ + kMostWords;  // the runs mostly have the dimensions of the warm-up
  count_ = dropped_ = 0;
  failures_.clear();
  words_used_ = 0;
  std::fill_n(known_.get(), kKnown, Known{});
  while (static_cast<double>(blocks_.size() * kBlock) < records)
    blocks_.push_back(std::make_unique<CallEvent[]>(kBlock));
  if (words > word_room_) grow_words(words);
  current_ = nullptr;
  used_ = room_ = 0;
  next_block();
}

void CallEventBuffer::commit_failed(std::string message) {
  failures_.emplace_back(current_[used_].sequence, std::move(message));
  commit();
}

std::string_view CallEventBuffer::failure_of(const CallEvent &record) const {
  const auto found = std::lower_bound(failures_.begin(), failures_.end(), record.sequence,
                                      [](const auto &failure, uint64_t wanted) { return failure.first < wanted; });
  return found != failures_.end() && found->first == record.sequence ? std::string_view(found->second) : "";
}

CallEvent *CallEventBuffer::describe_slowly(Args args, size_t call) {
  size_t needed = 0;
  for (const View &arg : args)
    if (const DLTensor *tensor = try_dltensor(arg)) needed += 1 + static_cast<size_t>(tensor->ndim);
  if (needed == 0 && !all_calls_) return nullptr;
  if (used_ == room_ && !next_block()) return ++dropped_, nullptr;
  if (word_room_ - words_used_ < needed) grow_words(std::max(2 * word_room_, words_used_ + needed));
  return fill(args, call);
}

namespace {
DLDevice device_of_last(Args args) {
  for (size_t i = args.size(); i-- > 0;)
    if (const DLTensor *tensor = try_dltensor(args[i])) return tensor->device;
  return {kDLCPU, 0};
}
}  // namespace

void CallEventBuffer::set_observer(CallObserver *observer) {
  observer_ = observer;
  only_ticks_ = !observer && clock_ == ClockId::kTsc;
}

uint64_t CallEventBuffer::begin_slowly(Args args) {
  if (observer_ && wants(args)) observer_->begin_call(device_of_last(args));
  return now();
}

uint64_t CallEventBuffer::end_slowly(uint64_t begin, Args args) {
  const uint64_t end = now();
  if (observer_ && wants(args)) observer_->end_call(begin, count_ + dropped_);
  return end;
}

std::span<const int64_t> CallEventBuffer::shape_words(const CallEvent &record) const {
  const size_t end = each_tensor(record, [](DLDataType, std::span<const int64_t>) {});
  return {words_.get() + record.shapes, end - record.shapes};
}

std::string CallEventBuffer::shapes_text(const CallEvent &record) const {
  std::string out;
  each_tensor(record, [&](DLDataType dtype, std::span<const int64_t> dims) {
    if (!out.empty()) out += ", ";
    out += dtype_name(dtype);
    append_dims(out, dims);
  });
  return out;
}

uint64_t CallEventBuffer::tensor_bytes(const CallEvent &record) const {
  uint64_t sum = 0;
  each_tensor(record, [&](DLDataType dtype, std::span<const int64_t> dims) {
    uint64_t elements = 1;
    for (const int64_t dim : dims) elements *= static_cast<uint64_t>(dim);
    sum += (elements * dtype.bits * dtype.lanes + 7) / 8;
  });
  return sum;
}

}  // namespace opd
