// Device timers: measure the duration of a stream's work with the device's clock.
#pragma once
#include <cstdint>

namespace opd {

// Measures from the end of the work submitted before the start to the end of the work submitted before stop(). Used by
// one thread. The destructor does not wait.
class DeviceTimer {
 public:
  virtual ~DeviceTimer() = default;
  virtual void stop() = 0;            // throws
  virtual uint64_t elapsed_ns() = 0;  // after stop(): waits for the work; throws
};

}  // namespace opd
