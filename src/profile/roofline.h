// Reports with what their operators compute and move, beside what the machine can do.
#pragma once
#include "profile/report.h"

namespace opd {

struct MachinePeak {
  double gflops = 0, bandwidth_gbps = 0;  // 0: not known
};

Ref<Report> with_roofline(const Report &report, const MachinePeak &peak);

}  // namespace opd
