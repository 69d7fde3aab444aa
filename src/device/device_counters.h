// Timers and counters of devices. Timers measure the duration of a stream's work with the device's clock. Counters
// count events of the kernels that a device runs.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace opd {

// Measures from the end of the work submitted before the start to the end of the work submitted before stop(). Used by
// one thread. The destructor does not wait.
class DeviceTimer {
 public:
  virtual ~DeviceTimer() = default;
  virtual void stop() = 0;            // throws
  virtual uint64_t elapsed_ns() = 0;  // called after stop(); waits for the work; throws
};

// Counts from its construction until stop(). Several may count at the same time. On one thread, the newest stops first.
class DeviceCounters {
 public:
  struct Count {
    std::string_view name;  // valid as long as the set
    uint64_t value;
  };
  virtual ~DeviceCounters() = default;
  virtual std::vector<Count> stop() = 0;  // call once; waits for the kernels; throws
};

// Counters of one device that are counted together. Thread-safe. It must outlive the counters that it starts.
class DeviceCounterSet {
 public:
  virtual ~DeviceCounterSet() = default;
  virtual std::unique_ptr<DeviceCounters> start() = 0;  // null if counting is not possible now; throws
};

}  // namespace opd
