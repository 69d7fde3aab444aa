#include "device/opencl/opencl_context.h"

namespace opd::cl {

DeviceContext::DeviceContext(Device *device, int32_t number) : api_(Api::get()), device_(device), number_(number) {
  Status status = kSuccess;
  context_ = api_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  queue_ = make_queue();
  sub_buffer_bytes_ = number_of<uint32_t>(kMemoryAlignBits) / 8;
}

Queue *DeviceContext::make_queue() const {
  Status status = kSuccess;
  Queue *const queue = api_.clCreateCommandQueue(context_, device_, kQueueProfiling, &status);
  check(status, "clCreateCommandQueue");
  return queue;
}

std::string DeviceContext::text(DeviceInfo info) const {
  size_t size = 0;
  check(api_.clGetDeviceInfo(device_, info, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  check(api_.clGetDeviceInfo(device_, info, size, text.data(), nullptr), "clGetDeviceInfo");
  return text.c_str();  // up to its end mark
}

std::vector<Device *> list_devices(const Api &api) {
  constexpr uint64_t kOrder[] = {kGpu | kAccelerator, kCpu};
  uint32_t count = 0;
  if (api.clGetPlatformIDs(0, nullptr, &count)) return {};  // no driver is installed
  std::vector<Platform *> platforms(count);
  check(api.clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::vector<Device *> devices;
  for (const uint64_t type : kOrder)
    for (Platform *platform : platforms) {
      if (api.clGetDeviceIDs(platform, type, 0, nullptr, &count)) continue;  // it has none of the type
      const size_t before = devices.size();
      devices.resize(before + count);
      if (api.clGetDeviceIDs(platform, type, count, &devices[before], nullptr)) devices.resize(before);
    }
  return devices;
}

}  // namespace opd::cl
