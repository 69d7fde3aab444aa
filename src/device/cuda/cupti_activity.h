// Events from CUPTI's records of CUDA devices: kernels, copies, fills, and the overhead of the driver and of CUPTI.
#pragma once
#include <atomic>
#include <cstdint>

#include "trace/record/device_activity.h"

namespace opd::cuda {

ActivitySource &cupti_activity();

namespace detail {
extern std::atomic<bool> is_activity_reported;
}
// Whether CUPTI reports the times of work. If so, no events are recorded around it.
inline bool is_reported() { return detail::is_activity_reported.load(std::memory_order_acquire); }

// During its life, CUPTI marks submitted work with the number of the calling thread's run.
class ReportedRun {
 public:
  ReportedRun() noexcept;
  ~ReportedRun();
  ReportedRun(const ReportedRun &) = delete;

 private:
  bool is_pushed_ = false;
};

}  // namespace opd::cuda
