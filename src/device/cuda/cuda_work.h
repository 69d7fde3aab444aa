// Times of kernels and copies, measured by events before and after them. The driver reports only the time between two
// events. So there is a reference event with a known time on the host's clock.
#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include "device/cuda/cuda_context.h"
#include "device/cuda/cupti_activity.h"
#include "device/device_clock.h"
#include "device/device_timer.h"
#include "trace/record/device_work.h"

namespace opd::cuda {

class TimedEvent {
 public:
  TimedEvent(const DeviceContext &device, Stream *stream);  // throws; reached when the stream's earlier work is done
  ~TimedEvent() { device_.release(device_.api().cuEventDestroy_v2, event_); }
  TimedEvent(const TimedEvent &) = delete;

  bool wait() const noexcept { return device_.api().cuEventSynchronize(event_) == kSuccess; }
  bool ns_since(const TimedEvent &earlier, uint64_t &out) const noexcept;  // false if the driver has no time

 private:
  const DeviceContext &device_;
  Event *event_ = nullptr;
};

// An event of a device with a known time on the host's clock. The driver's times are floats in milliseconds: if the
// event were older than a few seconds, they would be coarser than a microsecond. Cost: waits for the device, 0.1 ms.
class Reference {
 public:
  explicit Reference(const DeviceContext &device);  // throws
  bool is_old() const { return std::chrono::steady_clock::now() - made_ > std::chrono::seconds(4); }
  // Times of work between two events. Returns false if the driver has none.
  bool times_of(const TimedEvent &before, const TimedEvent &after, TickInterval launch, WorkTimes &out) const noexcept;

 private:
  struct OwnStream {  // a separate stream, so that it waits for no work
    explicit OwnStream(const DeviceContext &device);
    ~OwnStream() { device.release(device.api().cuStreamDestroy_v2, stream); }
    OwnStream(const OwnStream &) = delete;
    const DeviceContext &device;
    Stream *stream = nullptr;
  };

  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
  const OwnStream stream_;
  DeviceClock clock_;  // its time is 0 at the event
  std::unique_ptr<TimedEvent> event_;
};

class CudaTimer final : public DeviceTimer {
 public:
  CudaTimer(const DeviceContext &device, Stream *stream) : device_(device), stream_(stream), begin_(device, stream) {}
  void stop() override { end_.emplace(device_, stream_); }
  uint64_t elapsed_ns() override;

 private:
  const DeviceContext &device_;
  Stream *const stream_;
  TimedEvent begin_;
  std::optional<TimedEvent> end_;
};

class CudaWork final : public PendingWork {
 public:
  // Submits work to a stream between two events. If the events fail, the work is still submitted, and its times are
  // lost.
  template <class Give>
  static std::unique_ptr<PendingWork> timed(const DeviceContext &device, void *stream, const Give &give) {
    if (is_reported()) {  // CUPTI reports the times
      const ReportedRun run;
      return give(), nullptr;
    }
    auto work = std::make_unique<CudaWork>(device, static_cast<Stream *>(stream));
    give();
    work->end();
    return work;
  }
  CudaWork(const DeviceContext &device, Stream *stream) noexcept;
  bool finish(TickInterval launch, WorkTimes &out) noexcept override;

 private:
  void end() noexcept;
  std::unique_ptr<TimedEvent> record() const noexcept;

  const DeviceContext &device_;
  Stream *const stream_;
  std::shared_ptr<const Reference> reference_;
  std::unique_ptr<TimedEvent> before_, after_;
};

}  // namespace opd::cuda
