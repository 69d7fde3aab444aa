// What the processors reach at most.
#pragma once
#include <cstdint>

#include "profile/roofline.h"

namespace opd {

struct MeasuredPeak {
  MachinePeak peak;
  int32_t num_threads = 0;
};
MeasuredPeak measure_machine_peak();  // takes about half a second

}  // namespace opd
