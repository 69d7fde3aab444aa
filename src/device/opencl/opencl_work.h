// The times of a command of OpenCL, by its event.
#pragma once
#include "device/opencl/opencl_context.h"

namespace opd::cl {

class OpenClWork final : public PendingWork {
 public:
  explicit OpenClWork(const DeviceContext &context) : context_(context) {}
  ~OpenClWork() { context_.api().release(context_.api().clReleaseEvent, event_); }
  OpenClWork(const OpenClWork &) = delete;

  Event **place() { return &event_; }           // where the driver is to put the event
  void set_blocking() { is_blocking_ = true; }  // the work has ended when it has been given

  bool finish(TickInterval launch, WorkTimes &out) noexcept override;

 private:
  bool read(EventTime which, uint64_t &out) const noexcept;

  const DeviceContext &context_;
  Event *event_ = nullptr;
  bool is_blocking_ = false;
};

}  // namespace opd::cl
