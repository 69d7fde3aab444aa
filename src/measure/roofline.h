// Adds each operator's arithmetic work and memory traffic to a report, and measures the machine's peak to compare them
// with.
#pragma once
#include "report/report.h"

namespace opd {

struct MachinePeak {
  double gflops = 0, bandwidth_gbps = 0;  // 0: unknown
};

Ref<Report> with_roofline(const Report &report, const MachinePeak &peak);

// Measures the peak performance of the processors.
struct MeasuredPeak {
  MachinePeak peak;
  int32_t num_threads = 0;
  double spread = 0;  // median time of the tries divided by the shortest, minus 1
};
MeasuredPeak measure_machine_peak();  // takes about half a second

}  // namespace opd
