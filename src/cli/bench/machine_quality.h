// The state of the machine during a measurement: the disturbances of timings that the system reports.
#pragma once
#include <opdyno/roofline.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace opd::cli {

uint64_t last_level_cache_bytes();  // cache of the first processor; 0: not reported

class MachineQuality {
 public:
  struct Entry {
    std::string name, value = "unknown";  // unknown: the system does not report it
    bool is_doubtful = false;             // makes timings scatter or drift
  };
  std::vector<Entry> entries() const;

  static Entry governor();  // governors of all processors: "performance", or "performance, powersave"
  static Entry quota();     // least quota of this process's control groups: "none", "1.5 processors"

 private:
  struct Ticks {
    double all, stolen;
  };
  static std::optional<Ticks> read_ticks();
  std::optional<Ticks> begin_ = read_ticks();  // when the observation started
};

// A warning if the machine was busy while the peak was measured; else "".
std::string noise_of(const opd_machine_peak &peak);

}  // namespace opd::cli
