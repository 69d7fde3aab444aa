// The work that spans gave to devices. It belongs to the innermost span that was open on the thread that gave it.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/spans.h"

namespace opd {

struct SpanDevice {
  uint64_t self = 0, total = 0;  // ticks on devices, without and with the spans within
};

class GivenWork {
 public:
  explicit GivenWork(const Trace &trace);
  bool empty() const { return works_.empty(); }
  // What the thread gave to devices, in that order.
  std::span<const Event *const> of(const TraceTrack &thread) const;
  // One for each span of the thread, in their order; none if it gave no work.
  std::vector<SpanDevice> of_spans(const ThreadSpans &thread) const;
  // The first device with work.
  std::optional<DLDevice> device() const { return device_; }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const Event *>> works_;  // by process and number of the thread
  std::optional<DLDevice> device_;
};

}  // namespace opd
