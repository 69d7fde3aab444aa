// Starts the control socket of OPDYNO_CONTROL when the library is loaded.
#include "control/control.h"

#include "capi/trace_write.h"

namespace opd {
namespace {
[[maybe_unused]] const bool kStarted = (start_control(&write_trace), true);
}  // namespace
}  // namespace opd
