// Launches on the library's thread pool.
#pragma once
#include <functional>

#include "device/cpu/thread_pool.h"

namespace opd {

using Body = std::function<int(int, ParallelGroup *)>;
inline int run_body(int id, ParallelGroup *group, void *body) { return (*static_cast<const Body *>(body))(id, group); }
inline int launch(int32_t num_task, Body body) { return parallel_launch(&run_body, &body, num_task); }

}  // namespace opd
