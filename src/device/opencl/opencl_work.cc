#include "device/opencl/opencl_work.h"

#include "value/value.h"

namespace opd::cl {

bool OpenClWork::read(cl_profiling_info which, uint64_t &out) const noexcept {
  return context_.api().clGetEventProfilingInfo(event_, which, sizeof out, &out, nullptr) == CL_SUCCESS;
}

// The driver records the device's time when the host queues a command, so this time is within the launch. If the launch
// waits for a copy, its interval is long, and only its two ends bound the clock tightly.
bool OpenClWork::finish(TickInterval launch, WorkTimes &out) noexcept try {
  const Api &api = context_.api();
  uint64_t queued = 0, started = 0, ended = 0;
  if (!event_ || api.is_inherited() || api.clWaitForEvents(1, &event_)) return false;
  const uint64_t now = ticks_of(tick_clock());
  if (!read(CL_PROFILING_COMMAND_QUEUED, queued) || !read(CL_PROFILING_COMMAND_START, started) ||
      !read(CL_PROFILING_COMMAND_END, ended))
    return false;
  context_.compare_clocks();
  DeviceClock &clock = context_.clock();
  clock.observe(queued, launch);
  clock.observe_not_before(started, launch.begin);
  clock.observe_not_after(ended, is_blocking_ ? launch.end : now);
  out = clock.times_of(started, ended, launch);
  return true;
} catch (const std::exception &) { return false; }

OpenClTimer::OpenClTimer(const DeviceContext &context, void *stream) : context_(context), stream_(stream) {
  mark(&begin_);
}

OpenClTimer::~OpenClTimer() {
  for (cl_event event : {begin_, end_}) context_.api().release(context_.api().clReleaseEvent, event);
}

// Enqueues a marker. Without the flush, a driver may hold back the first marker until it gets more work.
void OpenClTimer::mark(cl_event *place) const {
  const Api &api = context_.api();
  check(api.clEnqueueMarkerWithWaitList(context_.queue(stream_), 0, nullptr, place), "clEnqueueMarkerWithWaitList");
  check(api.clFlush(context_.queue(stream_)), "clFlush");
}

uint64_t OpenClTimer::time_of(cl_event event) const {
  const Api &api = context_.api();
  uint64_t ns = 0;
  check(api.clWaitForEvents(1, &event), "clWaitForEvents");
  check(api.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof ns, &ns, nullptr),
        "clGetEventProfilingInfo");
  return ns;
}

uint64_t OpenClTimer::elapsed_ns() {
  const uint64_t begin = time_of(begin_), end = time_of(end_);
  if (begin == 0 || end < begin)  // some drivers report no times for markers
    fail(OPD_CALL_FAILED, "the driver of opencl:", context_.number(), " gave markers the times ", begin, " and ", end);
  return end - begin;
}

}  // namespace opd::cl
