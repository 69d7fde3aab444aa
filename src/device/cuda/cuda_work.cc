#include "device/cuda/cuda_work.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/clock.h"

namespace opd::cuda {

TimedEvent::TimedEvent(const DeviceContext &device, Stream *stream) : device_(device) {
  const Api &api = device.api();
  const CurrentContext current(device);
  api.check(api.cuEventCreate(&event_, 0), "cuEventCreate");
  if (const Status status = api.cuEventRecord(event_, stream)) {
    api.cuEventDestroy_v2(event_);
    api.check(status, "cuEventRecord");
  }
}

bool TimedEvent::ns_since(const TimedEvent &earlier, uint64_t &out) const noexcept {
  float ms = 0;
  if (device_.api().cuEventElapsedTime(&ms, earlier.event_, event_)) return false;
  out = static_cast<uint64_t>(std::max(double{ms}, 0.0) * 1e6);
  return true;
}

uint64_t CudaTimer::elapsed_ns() {
  const CurrentContext current(device_);
  uint64_t ns = 0;
  if (!end_->wait()) fail(OPD_CALL_FAILED, "cuEventSynchronize failed");
  if (!end_->ns_since(begin_, ns)) fail(OPD_CALL_FAILED, "cuEventElapsedTime failed");
  return ns;
}

Reference::OwnStream::OwnStream(const DeviceContext &d) : device(d) {
  const CurrentContext current(device);
  device.api().check(device.api().cuStreamCreate(&stream, kNonBlocking), "cuStreamCreate");
}

namespace {
constexpr uint64_t kResolutionNs = 500;  // resolution of the times between events, by NVIDIA's manual

// Rounding error of the driver's times, which are floats in milliseconds.
uint64_t rounding_ns(uint64_t ns) {
  const auto ms = static_cast<float>(static_cast<double>(ns) / 1e6);
  return static_cast<uint64_t>((std::nextafter(ms, std::numeric_limits<float>::infinity()) - ms) * 1e6f);
}
}  // namespace

// Each further event narrows the first event's place on the host's clock.
Reference::Reference(const DeviceContext &device)
    : stream_(device), clock_("bracketed events", kResolutionNs, DeviceClock::Zero::kOfReference) {
  constexpr int kEvents = 4;
  const CurrentContext current(device);
  for (int i = 0; i < kEvents; ++i) {
    TickInterval interval;
    interval.begin = opd::ticks_of(tick_clock());
    auto event = std::make_unique<TimedEvent>(device, stream_.stream);
    if (!event->wait()) fail(OPD_CALL_FAILED, "cuEventSynchronize failed");
    interval.end = opd::ticks_of(tick_clock());
    uint64_t ns = 0;
    if (i > 0 && !event->ns_since(*event_, ns)) fail(OPD_CALL_FAILED, "cuEventElapsedTime failed");
    clock_.observe(ns, interval);
    if (i == 0) event_ = std::move(event);
  }
}

bool Reference::times_of(const TimedEvent &before, const TimedEvent &after, TickInterval launch,
                         WorkTimes &out) const noexcept {
  uint64_t began = 0, ended = 0;
  if (!before.ns_since(*event_, began) || !after.ns_since(*event_, ended)) return false;
  out = clock_.times_of(began, ended, launch);
  out.clock.error_ns += rounding_ns(ended);
  return true;
}

CudaWork::CudaWork(const DeviceContext &device, Stream *stream) noexcept : device_(device), stream_(stream) {
  if (device.api().is_inherited()) return;
  try {
    reference_ = device.reference();
    before_ = record();
  } catch (const std::exception &) {}  // the times are lost, and the trace counts the loss
}

void CudaWork::end() noexcept {
  if (before_) after_ = record();
}

std::unique_ptr<TimedEvent> CudaWork::record() const noexcept try {
  return std::make_unique<TimedEvent>(device_, stream_);
} catch (const std::exception &) { return nullptr; }

bool CudaWork::finish(TickInterval launch, WorkTimes &out) noexcept try {
  if (!after_ || device_.api().is_inherited()) return false;
  const CurrentContext current(device_);
  return after_->wait() && reference_->times_of(*before_, *after_, launch, out);
} catch (const Exception &) { return false; }

}  // namespace opd::cuda
