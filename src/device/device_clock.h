// A device's clock on the line of the process's ticks. Each moment of the device's clock that is known to lie after or
// before a tick narrows where its zero can be; as clocks drift, what was known becomes less certain.
#pragma once
#include <cstdint>

#include "base/clock.h"
#include "trace/device_work.h"

namespace opd {

class DeviceClock {  // one thread at a time
 public:
  // The device's clock was at `device_ns` within the interval; not before the tick; not after it.
  void observe(uint64_t device_ns, TickInterval interval);
  void observe_not_before(uint64_t device_ns, uint64_t tick);
  void observe_not_after(uint64_t device_ns, uint64_t tick);

  // These need an observation.
  uint64_t ticks_at(uint64_t device_ns) const;
  // Of work: no earlier than its launch, and as long as the device says.
  TickInterval interval_of(uint64_t begin_ns, uint64_t end_ns, TickInterval launch) const;

 private:
  static constexpr int64_t kFar = INT64_MAX / 4;
  struct Zero {  // the host's time when the device's clock was 0, ns
    int64_t earliest = -kFar, latest = kFar;
  };
  int64_t host_ns(uint64_t tick) const { return static_cast<int64_t>(line_.ns_of(tick)); }
  void narrow(Zero known, int64_t now);

  const ClockCalibration line_ = ClockCalibration::measure(tick_clock());
  Zero zero_;
  int64_t observed_ = INT64_MIN;  // the host's time of the last observation, ns
};

}  // namespace opd
