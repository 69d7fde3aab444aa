// A buffer of recorded calls: one fixed-size record per call; only one thread touches it. Cost: the stores, and a
// comparison of the tensors' dimensions, which are stored only if they differ from those of the same call before.
// Memory comes in blocks, outside the measured interval.
#pragma once
#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "trace/call_observer.h"
#include "trace/names.h"
#include "value/tensor.h"

namespace opd {

struct CallEvent {
  static constexpr uint32_t kNoLocation = UINT32_MAX;
  uint64_t begin, end;  // ticks of the buffer's clock
  uint64_t shapes;      // index of the tensors' descriptions in the buffer's shape words
  uint64_t sequence;    // position among all calls of the buffer, including dropped ones
  NameId name;
  uint32_t location;     // VM: index of the instruction; kNoLocation: it has none
  uint32_t num_tensors;  // arguments described at `shapes`
  uint32_t depth;        // nesting of program calls
  DLDevice device;       // of the last tensor argument
  uint64_t run;          // number of the measured run, from 0
};
static_assert(sizeof(CallEvent) == 64);

class CallEventBuffer {
 public:
  // `all_calls`: also records calls without a tensor, which TVM's profiler leaves out.
  explicit CallEventBuffer(uint64_t max_records, bool all_calls = false);

  ClockId clock() const { return clock_; }
  uint64_t now() const { return ticks_of(clock_); }

  // Whether a call with these arguments is to be recorded.
  bool wants(Args args) const {
    if (all_calls_) return true;
    for (const View &arg : args)
      if (arg.type == OPD_TENSOR || arg.type == OPD_DLTENSOR) return true;
    return false;
  }

  // Called around a recorded call; these return its ticks. The observer is called outside of the interval between them.
  void set_observer(CallObserver *observer);
  bool is_observer_busy() const { return observer_ && observer_->is_busy(); }
  uint64_t begin_call(Args args) { return only_ticks_ ? ticks_of(ClockId::kTsc) : begin_slowly(args); }
  uint64_t end_call(uint64_t begin, Args args) {
    return only_ticks_ ? ticks_of(ClockId::kTsc) : end_slowly(begin, args);
  }

  // Describes the tensors among `args` in the next record, which the caller completes and commits. Null if the call is
  // not wanted; also if there is no room: then the call is counted as dropped. `call`: a number for the cache of
  // dimensions; calls with the same number should mostly have equal dimensions.
  CallEvent *describe(Args args, size_t call) {
    if (used_ == room_ || word_room_ - words_used_ < kMostWords) [[unlikely]]
      return describe_slowly(args, call);
    return fill(args, call);
  }
  void commit() {
    ++used_;
    ++count_;
  }
  void commit_failed(std::string message);  // of a call that raised an error

  // Deletes all records, and makes room for `times` as many: the runs will record what the warm-up did.
  void restart(uint64_t times);

  uint64_t size() const { return count_; }
  uint64_t dropped() const { return dropped_; }
  bool all_calls() const { return all_calls_; }
  bool has_failures() const { return !failures_.empty(); }
  std::string_view failure_of(const CallEvent &record) const;  // its message; "" if the call did not fail
  const CallEvent &at(uint64_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  size_t num_shape_words() const { return words_used_; }  // CallEvent::shapes is less if there are tensors
  std::span<const int64_t> shape_words(const CallEvent &record) const;  // equal words have equal texts
  std::string shapes_text(const CallEvent &record) const;               // "float32[1, 64], int64[]"
  uint64_t tensor_bytes(const CallEvent &record) const;                 // of all its tensors
  template <class Visit>  // called with the dtype and the dimensions of each tensor; returns the end of its words
  size_t each_tensor(const CallEvent &record, const Visit &visit) const {
    size_t at = record.shapes;
    for (uint32_t i = 0; i < record.num_tensors; ++i) {
      const auto word = static_cast<uint64_t>(words_[at++]);
      const auto ndim = static_cast<size_t>(word >> 32);
      visit(std::bit_cast<DLDataType>(static_cast<uint32_t>(word)), std::span<const int64_t>(&words_[at], ndim));
      at += ndim;
    }
    return at;
  }
  ClockCalibration line() const { return ClockCalibration::measure(clock_); }  // to be called when recording ended

 private:
  static constexpr size_t kBlock = 4096;     // records
  static constexpr size_t kMostWords = 256;  // words of one call for which fill() has room without a check
  static constexpr size_t kKnown = 1024;
  struct Known {
    size_t at, size;  // in words
  };
  static int64_t pack(DLDataType dtype, int32_t ndim) { return int64_t{ndim} << 32 | std::bit_cast<uint32_t>(dtype); }
  CallEvent *fill(Args args, size_t call) {
    // All state is in locals: the words written might alias members, so the loop would read these again.
    CallEvent *const record = &current_[used_];
    int64_t *const words = words_.get();
    const size_t room = word_room_;
    size_t at = words_used_;
    uint32_t tensors = 0;
    DLDevice device{kDLCPU, 0};
    for (const View &arg : args) {
      const DLTensor *tensor = try_dltensor(arg);
      if (!tensor) continue;
      const int32_t ndim = tensor->ndim;
      const int64_t *const shape = tensor->shape;
      if (room - at < static_cast<size_t>(ndim) + 1) [[unlikely]]
        return describe_slowly(args, call);
      ++tensors;
      device = tensor->device;
      words[at++] = pack(tensor->dtype, ndim);
      for (int32_t i = 0; i < ndim; ++i) words[at++] = shape[i];
    }
    if (!tensors && !all_calls_) return nullptr;
    record->device = device;
    record->num_tensors = tensors;
    record->sequence = count_ + dropped_;
    Known &known = known_[call % kKnown];
    const size_t size = at - words_used_;
    if (known.size != size || !std::equal(words + words_used_, words + at, words + known.at)) {
      known = {words_used_, size};
      words_used_ = at;
    }
    record->shapes = known.at;
    return record;
  }
  CallEvent *describe_slowly(Args args, size_t call);  // makes room first
  uint64_t begin_slowly(Args args);
  uint64_t end_slowly(uint64_t begin, Args args);
  bool next_block();
  void grow_words(size_t room);

  ClockId clock_;
  bool all_calls_;
  CallObserver *observer_ = nullptr;
  bool only_ticks_ = clock_ == ClockId::kTsc;  // there is no observer, and the clock is the TSC
  CallEvent *current_ = nullptr;               // a block of blocks_; all later blocks are empty
  size_t used_ = 0, room_ = 0;
  uint64_t count_ = 0, dropped_ = 0, max_records_;
  std::vector<std::unique_ptr<CallEvent[]>> blocks_;
  std::vector<std::pair<uint64_t, std::string>> failures_;  // by rising CallEvent::sequence
  std::unique_ptr<int64_t[]> words_;
  size_t words_used_ = 0, word_room_ = 0;
  std::unique_ptr<Known[]> known_ = std::make_unique<Known[]>(kKnown);  // the last dimensions, by number of the call
};

}  // namespace opd
