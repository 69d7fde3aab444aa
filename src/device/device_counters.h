// What devices count of the kernels that they are given.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace opd {

// Counts from when it is made until stop(). Several may count at the same time; on one thread, the one that was made
// last stops first.
class DeviceCounters {
 public:
  struct Count {
    std::string_view name;  // valid as long as the set
    uint64_t value;
  };
  virtual ~DeviceCounters() = default;
  virtual std::vector<Count> stop() = 0;  // once; waits for the kernels; throws
};

// Counters of one device that go together. Thread-safe; it outlives what it starts.
class DeviceCounterSet {
 public:
  virtual ~DeviceCounterSet() = default;
  virtual std::unique_ptr<DeviceCounters> start() = 0;  // null: nothing can be counted now; throws
};

}  // namespace opd
