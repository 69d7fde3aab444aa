// Timers of devices: how long the work of a stream takes, by the device's own clock.
#pragma once
#include <cstdint>

namespace opd {

// From the moment when the stream's work before the start has ended, to the moment when its work before stop() has. It
// is used by one thread. Its end waits for nothing.
class DeviceTimer {
 public:
  virtual ~DeviceTimer() = default;
  virtual void stop() = 0;            // throws
  virtual uint64_t elapsed_ns() = 0;  // waits for the work, after stop(); throws
};

}  // namespace opd
