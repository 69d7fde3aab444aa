// One OpenCL device: its context, its default queue, and properties that are used often.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "device/device_clock.h"
#include "device/opencl/opencl_api.h"

namespace opd::cl {

class DeviceContext {
 public:
  DeviceContext(cl_device_id device, int32_t number);  // throws
  DeviceContext(const DeviceContext &) = delete;

  const Api &api() const { return api_; }
  cl_device_id device() const { return device_; }
  cl_context context() const { return context_; }
  int32_t number() const { return number_; }
  // The queue of a stream; null is the default stream. Queues are in order.
  cl_command_queue queue(void *stream) const { return stream ? static_cast<cl_command_queue>(stream) : queue_; }
  cl_command_queue make_queue() const;
  size_t sub_buffer_bytes() const { return sub_buffer_bytes_; }  // required alignment of a sub-buffer

  // Used only by the thread that reads the times of work.
  DeviceClock &clock() const { return clock_ ? *clock_ : make_clock(); }
  // Compares the clock with the host's clock again, if the driver has the device's time and the last comparison is old.
  void compare_clocks() const;

  std::string text(cl_device_info info) const;
  template <class T>
  T number_of(cl_device_info info) const {
    T value{};
    check(api_.clGetDeviceInfo(device_, info, sizeof value, &value, nullptr), "clGetDeviceInfo");
    return value;
  }

 private:
  const Api &api_;
  const cl_device_id device_;
  const int32_t number_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  size_t sub_buffer_bytes_ = 0;
  DeviceClock &make_clock() const;
  bool tells_time() const;

  mutable std::optional<DeviceClock> clock_;
  mutable bool has_timer_ = false;    // valid once the clock has been made
  mutable uint64_t compared_ns_ = 0;  // time of the last comparison
};

std::vector<cl_device_id> list_devices(const Api &api);  // ordered by number

}  // namespace opd::cl
