// Times of OpenCL commands, from their events.
#pragma once
#include "device/device_timer.h"
#include "device/opencl/opencl_context.h"

namespace opd::cl {

class OpenClWork final : public PendingWork {
 public:
  explicit OpenClWork(const DeviceContext &context) : context_(context) {}
  ~OpenClWork() { context_.api().release(context_.api().clReleaseEvent, event_); }
  OpenClWork(const OpenClWork &) = delete;

  cl_event *place() { return &event_; }         // the driver stores the event here
  void set_blocking() { is_blocking_ = true; }  // marks the work as ended when its submission returns

  bool finish(TickInterval launch, WorkTimes &out) noexcept override;

 private:
  bool read(cl_profiling_info which, uint64_t &out) const noexcept;

  const DeviceContext &context_;
  cl_event event_ = nullptr;
  bool is_blocking_ = false;
};

// Measures the time between two markers, which are commands without work.
class OpenClTimer final : public DeviceTimer {
 public:
  OpenClTimer(const DeviceContext &context, void *stream);  // throws
  ~OpenClTimer();
  OpenClTimer(const OpenClTimer &) = delete;

  void stop() override { mark(&end_); }
  uint64_t elapsed_ns() override;

 private:
  void mark(cl_event *place) const;
  uint64_t time_of(cl_event event) const;

  const DeviceContext &context_;
  void *const stream_;
  cl_event begin_ = nullptr, end_ = nullptr;
};

}  // namespace opd::cl
