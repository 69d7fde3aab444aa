// A device's clock on the line of the process's ticks. Each moment of the device's clock that is known to lie between
// two ticks narrows where its zero can be; as clocks drift, what was known becomes less certain.
#pragma once
#include <cstdint>

#include "base/clock.h"
#include "trace/device_work.h"

namespace opd {

class DeviceClock {  // one thread at a time
 public:
  // The device's clock was at `device_ns` within the interval.
  void observe(uint64_t device_ns, TickInterval interval);
  uint64_t ticks_at(uint64_t device_ns) const;  // after an observation
  uint64_t error_ns() const { return static_cast<uint64_t>(latest_ - earliest_) / 2; }

 private:
  const ClockCalibration line_ = ClockCalibration::measure(tick_clock());
  int64_t earliest_ = 0, latest_ = 0;  // the host's time when the device's clock was 0, ns
  int64_t observed_ = INT64_MIN;       // the host's time of the last observation, ns
};

}  // namespace opd
