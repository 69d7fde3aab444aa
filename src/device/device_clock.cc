#include "device/device_clock.h"

#include <algorithm>

namespace opd {
namespace {

// Uncertainty that a clock gains over time: 100 ppm.
int64_t drift_ns(int64_t elapsed_ns) { return std::max<int64_t>(elapsed_ns, 0) / 10'000; }

}  // namespace

void DeviceClock::observe(uint64_t device_ns, TickInterval interval) {
  const auto device = static_cast<int64_t>(device_ns);
  narrow({host_ns(interval.begin) - device, host_ns(interval.end) - device}, host_ns(interval.end));
}

void DeviceClock::observe_not_before(uint64_t device_ns, uint64_t tick) {
  narrow({host_ns(tick) - static_cast<int64_t>(device_ns), kFar}, host_ns(tick));
}

void DeviceClock::observe_not_after(uint64_t device_ns, uint64_t tick) {
  narrow({-kFar, host_ns(tick) - static_cast<int64_t>(device_ns)}, host_ns(tick));
}

// If the observation contradicts the earlier ones, the clock was reset, or drifts more than real clocks do. Then
// only this observation counts.
void DeviceClock::narrow(Range known, int64_t now) {
  const int64_t drift = observed_ == INT64_MIN ? 0 : drift_ns(now - observed_);
  const Range both{std::max(known.earliest, zero_.earliest - drift), std::min(known.latest, zero_.latest + drift)};
  zero_ = both.earliest <= both.latest ? both : known;
  observed_ = std::max(observed_, now);
}

// The host notices soon when work ends, but a launch may have waited behind other work. In that case the middle of the
// range would be far off.
int64_t DeviceClock::best_zero() const {
  constexpr int64_t kSoonNs = 50'000;
  if (!zero_.has_begin()) return zero_.latest;
  if (!zero_.has_end()) return zero_.earliest;
  return std::max(zero_.earliest + (zero_.latest - zero_.earliest) / 2, zero_.latest - kSoonNs);
}

uint64_t DeviceClock::ticks_at(uint64_t device_ns) const {
  const auto distance =
      static_cast<double>(static_cast<int64_t>(device_ns) + best_zero() - static_cast<int64_t>(line_.anchor.ns));
  return line_.anchor.ticks + static_cast<uint64_t>(static_cast<int64_t>(distance / line_.ns_per_tick));
}

// The true zero may be anywhere in the range, so the distance to the farther end is the error. Rounding adds to it: two
// device times are rounded (observed and converted), and so are conversions to ticks and back.
uint64_t DeviceClock::error_ns_at(uint64_t device_ns) const {
  if (!zero_.has_begin() || !zero_.has_end()) return DeviceMoment::kNotKnown;
  constexpr int64_t kRoundingNs = 4;
  const int64_t zero = best_zero(), distance = static_cast<int64_t>(device_ns) + zero - observed_;
  const int64_t half = std::max(zero - zero_.earliest, zero_.latest - zero);
  return static_cast<uint64_t>(half + drift_ns(distance < 0 ? -distance : distance) + 2 * resolution_ns_ + kRoundingNs);
}

WorkTimes DeviceClock::times_of(uint64_t begin_ns, uint64_t end_ns, TickInterval launch) const {
  const uint64_t begin = ticks_at(begin_ns), end = std::max(ticks_at(end_ns), begin);
  const uint64_t shown = std::max(begin, launch.begin);
  const uint64_t error = std::max(error_ns_at(begin_ns), error_ns_at(end_ns));
  const bool is_known = zero_kind_ == Zero::kOfDevice;
  return {{shown, shown + (end - begin)}, {method_, end, is_known ? end_ns : DeviceMoment::kNotKnown, error}};
}

}  // namespace opd
