// The calls of a report as an Arrow stream of one batch.
#pragma once
#include <opdyno/arrow.h>

#include "report/report.h"

namespace opd {

// `out` is only written. Throws OPD_UNSUPPORTED if the text exceeds Arrow's 32-bit offsets.
void report_to_arrow(Ref<Report> report, ArrowArrayStream *out);

}  // namespace opd
