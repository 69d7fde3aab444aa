// What devices count of the kernels that a thread launches.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace opd {

// Counts the kernels that its thread launches from when it is made until stop(). Several may count at the same time; on
// one thread, the one that was made last stops first.
class DeviceCounters {
 public:
  struct Count {
    std::string_view name;  // a constant
    uint64_t value;
  };
  virtual ~DeviceCounters() = default;
  virtual std::vector<Count> stop() = 0;  // once; waits for the kernels; throws
};

}  // namespace opd
