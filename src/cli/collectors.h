// Collectors by the names that the command line gives them.
#pragma once
#include <string>
#include <vector>

#include "handle.h"

namespace opd::cli {

using Collector = Handle<opd_collector>;

// "memory", or "papi:EVENT,EVENT"; fails with Exit::usage for a name that there is not, with Exit::failed for what
// cannot be measured here. Without events, what cannot be counted is left out.
Collector make_collector(std::string_view spec);
// What there is here, and why not: a line each.
std::string collectors_text();

}  // namespace opd::cli
