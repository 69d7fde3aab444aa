#include "device/opencl/opencl_work.h"

namespace opd::cl {

bool OpenClWork::read(EventTime which, uint64_t &out) const noexcept {
  return context_.api().clGetEventProfilingInfo(event_, which, sizeof out, &out, nullptr) == kSuccess;
}

// The driver records the device's time when the host queues a command, so this time is within the launch. If the launch
// waits for a copy, its interval is long, and only its two ends bound the clock tightly.
bool OpenClWork::finish(TickInterval launch, WorkTimes &out) noexcept try {
  const Api &api = context_.api();
  uint64_t queued = 0, started = 0, ended = 0;
  if (!event_ || api.is_inherited() || api.clWaitForEvents(1, &event_)) return false;
  const uint64_t now = ticks_of(tick_clock());
  if (!read(kQueued, queued) || !read(kStarted, started) || !read(kEnded, ended)) return false;
  context_.compare_clocks();
  DeviceClock &clock = context_.clock();
  clock.observe(queued, launch);
  clock.observe_not_before(started, launch.begin);
  clock.observe_not_after(ended, is_blocking_ ? launch.end : now);
  out = clock.times_of(started, ended, launch);
  return true;
} catch (const std::exception &) { return false; }

}  // namespace opd::cl
