// Entries of a report's configuration that say how far the times of devices may be off.
#pragma once
#include "report/report.h"
#include "trace/model/trace.h"

namespace opd {

// "Device clock error: opencl0 (us)", unless it is not known, and "Device clock: opencl0", a text.
void configure_device_clocks(const TraceParts &parts, ReportBuilder &builder);

}  // namespace opd
