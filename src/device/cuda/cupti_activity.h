// Reports of CUPTI on CUDA devices: hardware counters, and events from its records of kernels, copies, fills, and the
// overhead of the driver and of CUPTI.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device/device_counters.h"
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

class DeviceContext;
std::string absence_of_cupti_counters();  // reason for the absence of counters, one clause; "" if CUPTI has them
// `metrics`: names of CUPTI's metrics that end with ".sum" and can be counted in one pass. Throws.
std::unique_ptr<DeviceCounterSet> open_cupti_counters(const DeviceContext &device,
                                                      std::span<const std::string> metrics);

}  // namespace opd::cuda
