// The work of devices in a trace.
#pragma once
#include <algorithm>
#include <cmath>
#include <sstream>

#include "support/report_test.h"

namespace opdyno_test {

// The rows of devices, as "name on track for 5 us, 64 bytes".
inline std::vector<std::string> works_of(const Report &events) {
  std::vector<std::string> found;
  bool has_bytes = true;
  try {
    (void)call_value(events, 0, "Bytes");
  } catch (const Error &) { has_bytes = false; }
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row) {
    if (text_value(call_value(events, row, "Kind")) != "device") continue;
    const Value bytes = has_bytes ? call_value(events, row, "Bytes") : Value();
    std::ostringstream text;
    text << text_value(call_value(events, row, "Name")) << " on " << text_value(call_value(events, row, "Thread"))
         << " for " << std::lround(number_of(call_value(events, row, "Device Duration (us)"))) << " us";
    if (bytes.type() != OPD_NONE) text << ", " << number_of(bytes) << " bytes";
    found.push_back(text.str());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace opdyno_test
