// Explains why a counter cannot be used, and what the user can do about it.
#pragma once
#include <string>

namespace opd {

// Hint for an errno of perf_event_open(2).
std::string perf_hint(int error);
std::string paranoia_text();  // "/proc/sys/kernel/perf_event_paranoid is 2"

}  // namespace opd
