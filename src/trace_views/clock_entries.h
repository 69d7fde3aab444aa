// Adds entries to a report's configuration that give the error bounds of devices' times.
#pragma once
#include "report/report.h"
#include "trace/model/trace.h"

namespace opd {

// Adds "Device clock error: opencl0 (us)", unless unknown, and "Device clock: opencl0", a text.
void configure_device_clocks(const TraceParts &parts, ReportBuilder &builder);

}  // namespace opd
