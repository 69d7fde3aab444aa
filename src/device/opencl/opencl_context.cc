#include "device/opencl/opencl_context.h"

namespace opd::cl {

DeviceContext::DeviceContext(cl_device_id device, int32_t number) : api_(Api::get()), device_(device), number_(number) {
  cl_int status = CL_SUCCESS;
  context_ = api_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  queue_ = make_queue();
  sub_buffer_bytes_ = number_of<uint32_t>(CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
}

cl_command_queue DeviceContext::make_queue() const {
  cl_int status = CL_SUCCESS;
  const cl_command_queue queue = api_.clCreateCommandQueue(context_, device_, CL_QUEUE_PROFILING_ENABLE, &status);
  check(status, "clCreateCommandQueue");
  return queue;
}

std::string DeviceContext::text(cl_device_info info) const {
  size_t size = 0;
  check(api_.clGetDeviceInfo(device_, info, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  check(api_.clGetDeviceInfo(device_, info, size, text.data(), nullptr), "clGetDeviceInfo");
  return text.c_str();  // up to the terminating NUL
}

// Whether the driver has the device's time. PoCL 3.1 has OpenCL 3.0 without this function, and returns an error.
bool DeviceContext::tells_time() const {
  constexpr std::string_view kBegin = "OpenCL ", kFirst = "2.1";
  const std::string version = text(CL_DEVICE_VERSION);
  if (!api_.clGetDeviceAndHostTimer || !version.starts_with(kBegin)) return false;
  uint64_t device_ns = 0, host_ns = 0;
  return version.substr(kBegin.size(), kFirst.size()) >= kFirst &&
         api_.clGetDeviceAndHostTimer(device_, &device_ns, &host_ns) == CL_SUCCESS && device_ns > 0;
}

DeviceClock &DeviceContext::make_clock() const {
  has_timer_ = tells_time();
  return clock_.emplace(has_timer_ ? "clGetDeviceAndHostTimer" : "bracketed events",
                        number_of<size_t>(CL_DEVICE_PROFILING_TIMER_RESOLUTION));
}

// Only the device's time is used: no specification defines which clock the host time is from.
void DeviceContext::compare_clocks() const {
  constexpr uint64_t kCertainNs = 20'000'000;
  constexpr int kRounds = 3;  // the shortest round counts
  DeviceClock &own = clock();
  if (!has_timer_ || monotonic_ns() - compared_ns_ < kCertainNs) return;
  for (int i = 0; i < kRounds; ++i) {
    uint64_t device_ns = 0, host_ns = 0;
    TickInterval interval;
    interval.begin = ticks_of(tick_clock());
    const cl_int status = api_.clGetDeviceAndHostTimer(device_, &device_ns, &host_ns);
    interval.end = ticks_of(tick_clock());
    if (status == CL_SUCCESS) own.observe(device_ns, interval);
  }
  compared_ns_ = monotonic_ns();
}

std::vector<cl_device_id> list_devices(const Api &api) {
  constexpr uint64_t kOrder[] = {CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU};
  uint32_t count = 0;
  if (api.clGetPlatformIDs(0, nullptr, &count)) return {};  // no driver is installed
  std::vector<cl_platform_id> platforms(count);
  check(api.clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::vector<cl_device_id> devices;
  for (const uint64_t type : kOrder)
    for (cl_platform_id platform : platforms) {
      if (api.clGetDeviceIDs(platform, type, 0, nullptr, &count)) continue;  // it has no devices of the type
      const size_t before = devices.size();
      devices.resize(before + count);
      if (api.clGetDeviceIDs(platform, type, count, &devices[before], nullptr)) devices.resize(before);
    }
  return devices;
}

}  // namespace opd::cl
