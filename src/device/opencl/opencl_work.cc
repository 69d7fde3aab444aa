#include "device/opencl/opencl_work.h"

#include <algorithm>

namespace opd::cl {

bool OpenClWork::read(EventTime which, uint64_t &out) const noexcept {
  return context_.api().clGetEventProfilingInfo(event_, which, sizeof out, &out, nullptr) == kSuccess;
}

// The driver notes the device's time when the host queues a command: so that moment is known on both clocks.
bool OpenClWork::finish(TickInterval launch, TickInterval &out) noexcept {
  const Api &api = context_.api();
  uint64_t queued = 0, started = 0, ended = 0;
  if (!event_ || api.is_inherited() || api.clWaitForEvents(1, &event_)) return false;
  if (!read(kQueued, queued) || !read(kStarted, started) || !read(kEnded, ended)) return false;
  DeviceClock &clock = context_.clock();
  clock.observe(queued, launch);
  out.begin = std::max(clock.ticks_at(started), launch.begin);
  out.end = std::max(clock.ticks_at(ended), out.begin);
  return true;
}

}  // namespace opd::cl
