// Converts the times of a device's clock to ticks of the process. Each device time that is known to be before or after
// a tick narrows the range of the clock's zero. Clocks drift, so the range widens again with time.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "trace/record/device_work.h"

namespace opd {

class DeviceClock {  // used by one thread at a time
 public:
  enum class Zero : uint8_t {
    kOfDevice,    // absolute times of the driver
    kOfReference  // the driver has only times since an event, so the zero has no meaning
  };
  // `method`: name of the calibration method, shown to users. `resolution_ns`: a timestamp of the device may be this
  // much too early.
  explicit DeviceClock(std::string_view method, uint64_t resolution_ns = 1, Zero zero = Zero::kOfDevice)
      : method_(name_id(method)), resolution_ns_(static_cast<int64_t>(resolution_ns)), zero_kind_(zero) {}

  // Observations of the device's time `device_ns`: the device's clock had it within the interval, not before the tick,
  // or not after the tick.
  void observe(uint64_t device_ns, TickInterval interval);
  void observe_not_before(uint64_t device_ns, uint64_t tick);
  void observe_not_after(uint64_t device_ns, uint64_t tick);

  // The functions below need an observation.
  uint64_t ticks_at(uint64_t device_ns) const;
  // Maximum error of ticks_at(). DeviceMoment::kNotKnown if all observations bound the clock on the same side.
  uint64_t error_ns_at(uint64_t device_ns) const;
  // Times of work: it begins no earlier than its launch, and has its duration on the device's clock.
  WorkTimes times_of(uint64_t begin_ns, uint64_t end_ns, TickInterval launch) const;

 private:
  static constexpr int64_t kFar = INT64_MAX / 2;  // Unix time, possible for a device's clock, is 0.2 of INT64_MAX
  struct Range {                                  // host time in ns when the device's clock was 0
    int64_t earliest = -kFar, latest = kFar;
    bool has_begin() const { return earliest > -kFar / 2; }
    bool has_end() const { return latest < kFar / 2; }
  };
  int64_t host_ns(uint64_t tick) const { return static_cast<int64_t>(line_.ns_of(tick)); }
  void narrow(Range known, int64_t now);
  int64_t best_zero() const;

  const NameId method_;
  const int64_t resolution_ns_;
  const Zero zero_kind_;
  const ClockCalibration line_ = ClockCalibration::measure(tick_clock());
  Range zero_;
  int64_t observed_ = INT64_MIN;  // host time of the last observation, ns
};

}  // namespace opd
