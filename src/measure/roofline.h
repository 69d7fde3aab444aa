// Adds each operator's arithmetic work and memory traffic to a report, for comparison with the machine's peak.
#pragma once
#include "report/report.h"

namespace opd {

struct MachinePeak {
  double gflops = 0, bandwidth_gbps = 0;  // 0: unknown
};

Ref<Report> with_roofline(const Report &report, const MachinePeak &peak);

}  // namespace opd
