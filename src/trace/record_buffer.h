// What instrumented code writes: one fixed-size record per call, into a buffer that only one thread touches.
// Cost: the stores, and the tensors' dimensions; memory comes in blocks, outside the measured interval.
#pragma once
#include <memory>
#include <vector>

#include "base/clock.h"
#include "value/tensor.h"

namespace opd {

struct Record {
  uint64_t begin, end;    // ticks of the buffer's clock
  uint64_t shapes;        // place of the tensors' descriptions among the buffer's shape words
  uint64_t sequence;      // position among all calls of the buffer, dropped ones counted
  uint32_t name;          // index into the emitter's table of names
  uint32_t location;      // VM: index of the instruction
  uint32_t num_tensors;   // arguments described at `shapes`
  uint32_t depth;         // nesting of program calls
  DLDevice device;        // of the last tensor argument
  uint64_t run;           // which measured call this belongs to, from 0
};
static_assert(sizeof(Record) == 64);

class RecordBuffer {
 public:
  explicit RecordBuffer(uint64_t max_records);

  ClockId clock() const { return clock_; }
  uint64_t now() const { return ticks_of(clock_); }

  // Room for the next record, or null when the buffer is full: that call is counted and dropped.
  Record *next() {
    if (used_ == room_) [[unlikely]]
      if (!grow()) return ++dropped_, nullptr;
    Record *record = &current_[used_++];
    record->sequence = count_++ + dropped_;
    return record;
  }

  // Describes the tensors among `args` behind `record`.
  void describe(Record &record, Args args) {
    record.shapes = words_.size();
    record.num_tensors = 0;
    for (const View &arg : args)
      if (const DLTensor *tensor = try_dltensor(arg)) {
        ++record.num_tensors;
        record.device = tensor->device;
        words_.push_back(pack(tensor->dtype, tensor->ndim));
        words_.insert(words_.end(), tensor->shape, tensor->shape + tensor->ndim);
      }
  }

  uint64_t size() const { return count_; }
  uint64_t dropped() const { return dropped_; }
  const Record &at(uint64_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  std::string shapes_text(const Record &record) const;  // "float32[1, 64], int64[]"
  ClockLine line() const { return ClockLine::measure(clock_); }  // to be taken when recording ended

 private:
  static constexpr size_t kBlock = 1024;
  static int64_t pack(DLDataType dtype, int32_t ndim) {
    return int64_t{ndim} << 32 | int64_t{dtype.lanes} << 16 | int64_t{dtype.bits} << 8 | dtype.code;
  }
  bool grow();

  ClockId clock_;
  Record *current_ = nullptr;
  size_t used_ = 0, room_ = 0;
  uint64_t count_ = 0, dropped_ = 0, max_records_;
  std::vector<std::unique_ptr<Record[]>> blocks_;
  std::vector<int64_t> words_;
};

}  // namespace opd
