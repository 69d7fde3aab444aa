// The activity of each name in an interval of time, as `opdyno top` shows it.
#pragma once
#include <vector>

#include "trace/model/trace.h"

namespace opd {

struct Activity {
  const Event *event;       // one of the spans, in the trace
  uint64_t count = 0;       // number of spans that ended in the interval
  uint64_t full_ticks = 0;  // full length of these spans, which may begin before the interval
  // Time within the interval, open spans included: total, and without nested spans.
  uint64_t ticks = 0, self_ticks = 0;
  uint32_t num_threads = 0;
};

// `trace` has the spans that ended in the interval, and the open ones. The interval begins at the tick `from`. Marks
// are left out. Sorted by self_ticks, largest first.
std::vector<Activity> activity_since(const Trace &trace, uint64_t from);

}  // namespace opd
