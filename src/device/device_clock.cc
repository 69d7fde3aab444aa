#include "device/device_clock.h"

#include <algorithm>

namespace opd {

void DeviceClock::observe(uint64_t device_ns, TickInterval interval) {
  const auto host_ns = [this](uint64_t ticks) { return static_cast<int64_t>(line_.ns_of(ticks)); };
  const auto device = static_cast<int64_t>(device_ns);
  const int64_t now = host_ns(interval.end);
  const int64_t earliest = host_ns(interval.begin) - device, latest = now - device;
  constexpr int64_t kDriftInverse = 10'000;  // 100 ppm
  const int64_t drift = observed_ == INT64_MIN ? 0 : std::max<int64_t>(now - observed_, 0) / kDriftInverse;
  const int64_t kept_earliest = std::max(earliest, earliest_ - drift), kept_latest = std::min(latest, latest_ + drift);
  const bool agrees = observed_ != INT64_MIN && kept_earliest <= kept_latest;
  earliest_ = agrees ? kept_earliest : earliest, latest_ = agrees ? kept_latest : latest;
  observed_ = std::max(observed_, now);
}

uint64_t DeviceClock::ticks_at(uint64_t device_ns) const {
  const int64_t host_ns = static_cast<int64_t>(device_ns) + earliest_ + (latest_ - earliest_) / 2;
  const auto distance = static_cast<double>(host_ns - static_cast<int64_t>(line_.anchor.ns));
  return line_.anchor.ticks + static_cast<uint64_t>(static_cast<int64_t>(distance / line_.ns_per_tick));
}

}  // namespace opd
