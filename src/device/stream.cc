// The current stream of each thread and device, and the current device of each thread and kind.
#include <array>
#include <map>
#include <utility>

#include "device/device.h"

namespace opd {
namespace {

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wexit-time-destructors"  // it ends with its own thread, and no other one sees it
#endif
thread_local std::map<std::pair<int32_t, int32_t>, void *> current;

constexpr size_t kKinds = 64;  // as device.cc has
thread_local std::array<int32_t, kKinds> devices{};

}  // namespace

void *current_stream(DLDevice device) noexcept {
  const auto found = current.find({device.device_type, device.device_id});
  return found == current.end() ? nullptr : found->second;
}

void *set_current_stream(DLDevice device, void *stream) {
  void *before = current_stream(device);
  if (before != stream) current[{device.device_type, device.device_id}] = stream;
  return before;
}

int32_t current_device(DLDeviceType type) noexcept {
  return static_cast<size_t>(type) < kKinds ? devices[static_cast<size_t>(type)] : 0;
}

void set_current_device(DLDevice device) noexcept {
  if (static_cast<size_t>(device.device_type) < kKinds)
    devices[static_cast<size_t>(device.device_type)] = device.device_id;
}

}  // namespace opd
