// What the machine was like while something was measured: what disturbs timings, as far as the system tells.
#pragma once
#include <opdyno/roofline.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace opd::cli {

uint64_t last_level_cache_bytes();  // of the first processor; 0: the system does not tell

class MachineQuality {
 public:
  MachineQuality();  // what happens from here on counts

  struct Entry {
    std::string name, value;  // "unknown" where the system does not tell
    bool is_doubtful;         // it makes timings scatter or drift
  };
  std::vector<Entry> entries() const;

 private:
  struct Ticks {
    double all, stolen;
  };
  static std::optional<Ticks> read_ticks();
  std::optional<Ticks> begin_;
};

// What to know about a measured peak if the machine was busy meanwhile; else "".
std::string noise_of(const opd_machine_peak &peak);

}  // namespace opd::cli
