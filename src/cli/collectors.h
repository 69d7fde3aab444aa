// Collectors by the names that the command line gives them.
#pragma once
#include <string>
#include <vector>

#include "face.h"

namespace opd::cli {

// "memory", or "papi:EVENT,EVENT"; fails with Exit::usage for a name that there is not, with Exit::failed for what
// cannot be measured here. Without events, what cannot be counted is left out.
Collector make_collector(std::string_view spec);
// What there is here, and why not: a line each.
std::string collectors_text();
// Why the usual events of a collector cannot be measured here; "" if they can.
std::string collector_problem(std::string_view name);

}  // namespace opd::cli
