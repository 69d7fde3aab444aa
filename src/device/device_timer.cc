#include "device/device_timer.h"

#include "device/device.h"

namespace opd {

std::unique_ptr<DeviceTimer> start_timer(DLDevice device) {
  void *const stream = current_stream(device);
  check_stream(device, stream);
  return device_backend(device).start_timer(device.device_id, stream);
}

bool has_working_timer(DLDevice device) try {
  const auto timer = start_timer(device);
  if (!timer) return false;
  timer->stop();
  (void)timer->elapsed_ns();
  return true;
} catch (const Exception &) { return false; }

}  // namespace opd
