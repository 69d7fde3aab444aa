// The device work that spans submitted. It belongs to the innermost span that was open on the submitting thread.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace_views/span_memory.h"

namespace opd {

constexpr bool has_bytes(WorkKind kind) { return kind != WorkKind::kKernel && kind != WorkKind::kOverhead; }

struct SpanDevice {
  uint64_t self = 0, total = 0;  // ticks on devices, without and with nested spans
};

class GivenWork {
 public:
  explicit GivenWork(const Trace &trace);
  bool empty() const { return works_.empty(); }
  // The work that the thread submitted to devices, in that order.
  std::span<const Event *const> of(const TraceTrack &thread) const;
  // Calls visit(work, index of the innermost span around its launch) for each work; Span::kNone: there is no span.
  template <class Visit>
  void each_launch(const ThreadSpans &thread, const Visit &visit) const {
    each_moment(thread, of(*thread.track), visit, [](const Event &work) { return device_work(work).launched; });
  }
  // One item for each span of the thread, in their order; empty if the thread submitted no work.
  std::vector<SpanDevice> of_spans(const ThreadSpans &thread) const;
  // "opencl"; "device" for several kinds.
  const std::string &kind() const { return kind_; }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const Event *>> works_;  // key: process and thread number
  std::string kind_;
};

}  // namespace opd
