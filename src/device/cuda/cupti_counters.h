// Hardware counters of a CUDA device, through CUPTI's range profiler. CUPTI counts one stretch of the device's work at
// a time. So a stretch ends whenever a counter starts or stops, and its counts are added to all active counters. That
// is possible only with sums.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fork_mutex.h"
#include "device/cuda/cuda_context.h"
#include "device/cuda/cupti_range_api.h"
#include "device/device_counters.h"

namespace opd::cuda {

class CuptiCounterSet final : public DeviceCounterSet {
 public:
  // `metrics`: names of CUPTI's metrics that end with ".sum" and can be counted in one pass. Throws.
  CuptiCounterSet(const DeviceContext &device, std::span<const std::string> metrics);
  ~CuptiCounterSet() override { end(); }
  CuptiCounterSet(const CuptiCounterSet &) = delete;

  std::unique_ptr<DeviceCounters> start() override;

 private:
  class Counting;

  void configure();
  void enable();
  void end() const noexcept;
  void begin_stretch();
  void end_stretch();
  std::vector<double> values();
  void change(Counting *begins, Counting *ends);
  template <class Params>
  void call(cupti::Status (*function)(Params *), const char *name, Params &params) const;

  const DeviceContext &device_;
  const cupti::RangeApi &api_;
  const std::vector<std::string> names_;
  std::vector<const char *> metrics_;  // the same names in CUPTI's form
  cupti::Host *host_ = nullptr;
  cupti::Ranges *ranges_ = nullptr;
  std::vector<uint8_t> config_, data_;
  ForkMutex guard_{LockRank::kDeviceKernel};  // guards the members below
  std::vector<Counting *> open_;
  bool is_counting_ = false, is_broken_ = false;
};

std::string absence_of_cupti_counters();  // reason for the absence, one clause; "" if CUPTI has them

}  // namespace opd::cuda
