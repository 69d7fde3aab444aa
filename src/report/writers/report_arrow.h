// The calls of a report as an Arrow stream of one batch.
#pragma once
#include <opdyno/arrow.h>

#include "report/report.h"

namespace opd {

// `out` is written, never read. Throws OPD_UNSUPPORTED if there is more text than Arrow's 32-bit offsets allow.
void report_to_arrow(Ref<Report> report, ArrowArrayStream *out);

}  // namespace opd
