// Measures the peak performance of the processors.
#pragma once
#include <cstdint>

#include "measure/roofline.h"

namespace opd {

struct MeasuredPeak {
  MachinePeak peak;
  int32_t num_threads = 0;
  double spread = 0;  // median time of the tries divided by the shortest, minus 1
};
MeasuredPeak measure_machine_peak();  // takes about half a second

}  // namespace opd
