// OpenCL's driver and its devices: the functions of OpenCL 1.2 that the library uses; the context of each device, its
// default queue, and properties that are used often; the buffers and images of all devices, and the addresses that
// represent them; times of commands. The loader (libOpenCL.so.1) is opened at the first use of an OpenCL device.
// Source: The OpenCL Specification, 3.0.
#pragma once
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // declares clCreateCommandQueue
#include <CL/cl.h>

#include <optional>
#include <string>
#include <vector>

#include "device/address_ranges.h"
#include "device/device_clock.h"
#include "device/device_counters.h"
#include "device/driver.h"
#include "device/kernel.h"
#include "device/texture.h"

namespace opd::cl {

// The functions of the loader that are used.
// clang-format off
#define OPD_OPENCL_FUNCTIONS(X) \
  X(clGetPlatformIDs) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clCreateCommandQueue) \
  X(clReleaseCommandQueue) X(clFlush) X(clFinish) X(clCreateBuffer) X(clCreateSubBuffer) X(clCreateImage) \
  X(clReleaseMemObject) X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueReadImage) \
  X(clEnqueueWriteImage) X(clEnqueueCopyImage) X(clEnqueueCopyImageToBuffer) X(clEnqueueCopyBufferToImage) \
  X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clGetProgramInfo) X(clBuildProgram) \
  X(clGetProgramBuildInfo) X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel) X(clSetKernelArg) \
  X(clEnqueueNDRangeKernel) X(clEnqueueMarkerWithWaitList) X(clWaitForEvents) X(clGetEventProfilingInfo) \
  X(clReleaseEvent)
// clang-format on

// Functions that older loaders lack. They are null there. If a driver is older than the loader, they may crash.
#define OPD_OPENCL_NEW_FUNCTIONS(X) X(clGetDeviceAndHostTimer)  // since OpenCL 2.1

struct Api : Driver<Api> {
#define OPD_DECLARE(name) decltype(&::name) name = nullptr;
  OPD_OPENCL_FUNCTIONS(OPD_DECLARE)
  OPD_OPENCL_NEW_FUNCTIONS(OPD_DECLARE)
#undef OPD_DECLARE

  void open();
  // Releases a reference to a driver object. Does nothing in a child of fork(): the driver's locks may be held there.
  template <class T>
  void release(cl_int (*function)(T), T object) const {
    if (object && !is_inherited()) function(object);
  }
};

std::string status_name(cl_int status);           // "CL_OUT_OF_RESOURCES (-5)"
void check(cl_int status, const char *function);  // throws; OPD_OUT_OF_MEMORY if the status means that

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
  cl_command_queue make_queue() const {
    cl_int status = CL_SUCCESS;
    const cl_command_queue queue = api_.clCreateCommandQueue(context_, device_, CL_QUEUE_PROFILING_ENABLE, &status);
    check(status, "clCreateCommandQueue");
    return queue;
  }
  size_t sub_buffer_bytes() const { return sub_buffer_bytes_; }  // required alignment of a sub-buffer

  // Used only by the thread that reads the times of work.
  DeviceClock &clock() const { return clock_ ? *clock_ : make_clock(); }
  // Compares the clock with the host's clock again, if the driver has the device's time and the last comparison is old.
  void compare_clocks() const;

  std::string text(cl_device_info info) const {
    size_t size = 0;
    check(api_.clGetDeviceInfo(device_, info, 0, nullptr, &size), "clGetDeviceInfo");
    std::string text(size, '\0');
    check(api_.clGetDeviceInfo(device_, info, size, text.data(), nullptr), "clGetDeviceInfo");
    return text.c_str();  // up to the terminating NUL
  }
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
  DeviceClock &make_clock() const {
    has_timer_ = tells_time();
    return clock_.emplace(has_timer_ ? "clGetDeviceAndHostTimer" : "bracketed events",
                          number_of<size_t>(CL_DEVICE_PROFILING_TIMER_RESOLUTION));
  }
  // Whether the driver has the device's time. PoCL 3.1 has OpenCL 3.0 without this function, and returns an error.
  bool tells_time() const {
    constexpr std::string_view kBegin = "OpenCL ", kFirst = "2.1";
    const std::string version = text(CL_DEVICE_VERSION);
    if (!api_.clGetDeviceAndHostTimer || !version.starts_with(kBegin)) return false;
    uint64_t device_ns = 0, host_ns = 0;
    return version.substr(kBegin.size(), kFirst.size()) >= kFirst &&
           api_.clGetDeviceAndHostTimer(device_, &device_ns, &host_ns) == CL_SUCCESS && device_ns > 0;
  }

  mutable std::optional<DeviceClock> clock_;
  mutable bool has_timer_ = false;    // valid once the clock has been made
  mutable uint64_t compared_ns_ = 0;  // time of the last comparison
};

std::vector<cl_device_id> list_devices(const Api &api);  // ordered by number

// Owns a buffer or an image. The driver keeps the memory until the work that uses it has ended.
struct OwnedMemory {
  OwnedMemory() = default;
  ~OwnedMemory() { Api::get().release(Api::get().clReleaseMemObject, memory); }
  OwnedMemory(const OwnedMemory &) = delete;

  cl_mem memory = nullptr;
  ImageShape image;  // empty for a buffer
};

using Buffers = AddressRanges<OwnedMemory>;
using Place = Buffers::Place;

inline Buffers &buffers() {
  static auto *const made = new Buffers("opencl");  // never destroyed
  return *made;
}

// ---- times of commands, from their events

class OpenClWork final : public PendingWork {
 public:
  explicit OpenClWork(const DeviceContext &context) : context_(context) {}
  ~OpenClWork() { context_.api().release(context_.api().clReleaseEvent, event_); }
  OpenClWork(const OpenClWork &) = delete;

  cl_event *place() { return &event_; }         // the driver stores the event here
  void set_blocking() { is_blocking_ = true; }  // marks the work as ended when its submission returns

  bool finish(TickInterval launch, WorkTimes &out) noexcept override;

 private:
  bool read(cl_profiling_info which, uint64_t &out) const noexcept {
    return context_.api().clGetEventProfilingInfo(event_, which, sizeof out, &out, nullptr) == CL_SUCCESS;
  }

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
  uint64_t elapsed_ns() override {
    const uint64_t begin = time_of(begin_), end = time_of(end_);
    if (begin == 0 || end < begin)  // some drivers report no times for markers
      fail(OPD_CALL_FAILED, "the driver of opencl:", context_.number(),
           " reported invalid times for two markers: begin ", begin, ", end ", end);
    return end - begin;
  }

 private:
  // Enqueues a marker. Without the flush, a driver may hold back the first marker until it gets more work.
  void mark(cl_event *place) const {
    const Api &api = context_.api();
    check(api.clEnqueueMarkerWithWaitList(context_.queue(stream_), 0, nullptr, place), "clEnqueueMarkerWithWaitList");
    check(api.clFlush(context_.queue(stream_)), "clFlush");
  }
  uint64_t time_of(cl_event event) const {
    const Api &api = context_.api();
    uint64_t ns = 0;
    check(api.clWaitForEvents(1, &event), "clWaitForEvents");
    check(api.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof ns, &ns, nullptr),
          "clGetEventProfilingInfo");
    return ns;
  }

  const DeviceContext &context_;
  void *const stream_;
  cl_event begin_ = nullptr, end_ = nullptr;
};

// Makes a program in OpenCL C, and the kernels in it. Throws.
std::unique_ptr<DeviceProgram> build_program(const DeviceContext &context, const DeviceCode &code);

}  // namespace opd::cl
