// The current stream of each thread and device.
#include <map>
#include <utility>

#include "device/device.h"

namespace opd {
namespace {

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wexit-time-destructors"  // it ends with its own thread, and no other one sees it
#endif
thread_local std::map<std::pair<int32_t, int32_t>, void *> current;

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

}  // namespace opd
