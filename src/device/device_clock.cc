#include "device/device_clock.h"

#include <algorithm>

namespace opd {

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

void DeviceClock::narrow(Zero known, int64_t now) {
  constexpr int64_t kDriftInverse = 10'000;  // 100 ppm
  const int64_t drift = observed_ == INT64_MIN ? 0 : std::max<int64_t>(now - observed_, 0) / kDriftInverse;
  const Zero both{std::max(known.earliest, zero_.earliest - drift), std::min(known.latest, zero_.latest + drift)};
  if (both.earliest <= both.latest) zero_ = both;
  else if (known.latest == kFar) zero_ = {known.earliest, known.earliest};  // nothing is known of its other side
  else if (known.earliest == -kFar) zero_ = {known.latest, known.latest};
  else zero_ = known;
  observed_ = std::max(observed_, now);
}

uint64_t DeviceClock::ticks_at(uint64_t device_ns) const {
  const bool has_both = zero_.earliest > -kFar / 2 && zero_.latest < kFar / 2;
  // The host sees the end of some work soon, but each launch may have waited behind others: then the middle is far off.
  constexpr int64_t kSoonNs = 50'000;
  const int64_t middle = zero_.earliest + (zero_.latest - zero_.earliest) / 2;
  const int64_t zero = has_both                     ? std::max(middle, zero_.latest - kSoonNs)
                       : zero_.earliest > -kFar / 2 ? zero_.earliest
                                                    : zero_.latest;
  const auto distance =
      static_cast<double>(static_cast<int64_t>(device_ns) + zero - static_cast<int64_t>(line_.anchor.ns));
  return line_.anchor.ticks + static_cast<uint64_t>(static_cast<int64_t>(distance / line_.ns_per_tick));
}

TickInterval DeviceClock::interval_of(uint64_t begin_ns, uint64_t end_ns, TickInterval launch) const {
  const uint64_t begin = ticks_at(begin_ns), end = std::max(ticks_at(end_ns), begin);
  const uint64_t shown = std::max(begin, launch.begin);
  return {shown, shown + (end - begin)};
}

}  // namespace opd
