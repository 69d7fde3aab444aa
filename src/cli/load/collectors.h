// Makes collectors by their names on the command line.
#pragma once
#include <string>
#include <vector>

#include "cli/support/face.h"

namespace opd::cli {

// `spec` is "memory", or "papi:EVENT,EVENT". Fails with Exit::usage for an unknown name, with Exit::failed for events
// that cannot be measured on this machine. Without events, unavailable ones of the usual set are left out. `elsewhere`:
// another machine measures, and checks the events itself.
Collector make_collector(std::string_view spec, bool elsewhere = false);
// One line per collector: whether it works on this machine, and if not, why.
std::string collectors_text();
// The reason why a collector's usual events cannot be measured on this machine; "" if they can.
std::string collector_problem(std::string_view name);

}  // namespace opd::cli
