// Measures one function with collectors, as TVM's profile_function does.
#pragma once
#include "profiler/collector.h"
#include "value/function.h"

namespace opd {

// Returns a function with the same arguments whose result is a map: name of a metric to [kind, value].
Ref<Function> profile_function(Ref<Function> function, DLDevice device, std::vector<Ref<Collector>> collectors,
                               int32_t warmup_iters);

}  // namespace opd
