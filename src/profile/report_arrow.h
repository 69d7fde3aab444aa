// The calls of a report as an Arrow stream of one batch.
#pragma once
#include <opdyno/arrow.h>

#include "profile/report.h"

namespace opd {

// `out` is written and not read. Throws OPD_UNSUPPORTED for more text than Arrow's 32-bit offsets reach.
void report_to_arrow(Ref<Report> report, ArrowArrayStream *out);

}  // namespace opd
