// Hardware counters of a CUDA device, through CUPTI's range profiler. CUPTI counts one stretch of the device's work at
// a time. So a stretch ends whenever a counter starts or stops, and its counts are added to all active counters. Only
// sums can be added in this way, so only metrics that are sums are accepted.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/signals.h"
#include "device/cuda/cuda_context.h"
#include "device/cuda/cupti_activity.h"
#include "device/cuda/cupti_api.h"
#include "device/graph.h"
#include "value/value.h"

namespace opd::cuda {
namespace {

#define OPD_CALL(name, params) call(api_.name, #name, params)

class CuptiCounterSet final : public DeviceCounterSet {
 public:
  CuptiCounterSet(const DeviceContext &device, std::span<const std::string> metrics);
  ~CuptiCounterSet() override { end(); }
  CuptiCounterSet(const CuptiCounterSet &) = delete;

  std::unique_ptr<DeviceCounters> start() override {
    if (is_capturing({kDLCUDA, device_.number()})) return nullptr;  // a capture forbids waiting
    return std::make_unique<Counting>(*this);
  }

 private:
  class Counting final : public DeviceCounters {
   public:
    explicit Counting(CuptiCounterSet &set) : sums(set.names_.size()), set_(set) { set.change(this, nullptr); }
    ~Counting() override {
      if (!is_stopped_) try {
          set_.change(nullptr, this);
        } catch (const Exception &) {}  // nobody needs the counts
    }
    std::vector<Count> stop() override {
      is_stopped_ = true;
      set_.change(nullptr, this);
      std::vector<Count> counts;
      for (size_t i = 0; i < sums.size(); ++i)
        counts.push_back({set_.names_[i], static_cast<uint64_t>(std::llround(std::max(sums[i], 0.0)))});
      return counts;
    }

    std::vector<double> sums;  // one per metric

   private:
    CuptiCounterSet &set_;
    bool is_stopped_ = false;
  };

  // Makes the hardware configuration for the metrics. Each kernel runs once, so the metrics must need one pass only.
  void configure() {
    cupti::InitializeParams initialize;
    OPD_CALL(cuptiProfilerInitialize, initialize);
    cupti::ChipParams chip{{}, static_cast<size_t>(device_.number())};
    OPD_CALL(cuptiDeviceGetChipName, chip);
    cupti::HostParams host;
    host.chip = chip.chip;
    OPD_CALL(cuptiProfilerHostInitialize, host);
    host_ = host.host;
    cupti::MetricsParams metrics{{}, host_, metrics_.data(), metrics_.size()};
    OPD_CALL(cuptiProfilerHostConfigAddMetrics, metrics);
    cupti::ConfigSizeParams size{{}, host_};
    OPD_CALL(cuptiProfilerHostGetConfigImageSize, size);
    config_.resize(size.bytes);
    cupti::ConfigParams config{{}, host_, config_.size(), config_.data()};
    OPD_CALL(cuptiProfilerHostGetConfigImage, config);
    cupti::PassesParams passes{{}, config_.size(), config_.data()};
    OPD_CALL(cuptiProfilerHostGetNumOfPasses, passes);
    if (passes.passes != 1)
      fail(OPD_UNSUPPORTED, "cannot measure ", counted(names_.size(), "metric"), " on cuda:", device_.number(),
           ": this needs ", passes.passes, " runs of each kernel, but a kernel runs only once; request fewer metrics");
  }
  void enable() {
    const CurrentContext current(device_);
    cupti::EnableParams enable{{}, device_.context()};
    OPD_CALL(cuptiRangeProfilerEnable, enable);
    ranges_ = enable.ranges;
    cupti::DataSizeParams size{{}, ranges_, metrics_.data(), metrics_.size()};
    OPD_CALL(cuptiRangeProfilerGetCounterDataSize, size);
    data_.resize(size.bytes);
  }
  void end() const noexcept {
    if (api_.is_inherited()) return;
    cupti::RangesParams ranges{{}, ranges_};
    if (ranges_) api_.cuptiRangeProfilerDisable(&ranges);
    cupti::HostEndParams host{{}, host_};
    if (host_) api_.cuptiProfilerHostDeinitialize(&host);
  }
  void begin_stretch() {
    device_.api().check(device_.api().cuCtxSynchronize(), "cuCtxSynchronize");  // excludes earlier work
    cupti::DataParams data{{}, ranges_, data_.size(), data_.data()};
    OPD_CALL(cuptiRangeProfilerCounterDataImageInitialize, data);
    cupti::SetConfigParams config;
    config.ranges = ranges_, config.config_bytes = config_.size(), config.config = config_.data();
    config.data_bytes = data_.size(), config.data = data_.data();
    OPD_CALL(cuptiRangeProfilerSetConfig, config);
    cupti::RangesParams ranges{{}, ranges_};
    OPD_CALL(cuptiRangeProfilerStart, ranges);
    cupti::PushParams push{{}, ranges_, "opdyno"};
    OPD_CALL(cuptiRangeProfilerPushRange, push);
    is_counting_ = true;
  }
  void end_stretch() {
    is_counting_ = false;
    device_.api().check(device_.api().cuCtxSynchronize(), "cuCtxSynchronize");
    cupti::RangesParams ranges{{}, ranges_};
    OPD_CALL(cuptiRangeProfilerPopRange, ranges);
    cupti::StopParams stop;
    stop.ranges = ranges_;
    OPD_CALL(cuptiRangeProfilerStop, stop);
    cupti::DecodeParams decode{{}, ranges_};
    OPD_CALL(cuptiRangeProfilerDecodeData, decode);
    if (!stop.has_all || decode.dropped)
      fail(OPD_CALL_FAILED, "counts of kernels of cuda:", device_.number(), " are lost: CUPTI dropped ",
           counted(decode.dropped, "range"), stop.has_all ? "" : ", and has not counted all");
    const std::vector<double> counts = values();
    for (Counting *const each : open_)
      for (size_t i = 0; i < counts.size(); ++i) each->sums[i] += counts[i];
  }
  // Counts of the stretch that has ended; empty if it had no kernels.
  std::vector<double> values() {
    cupti::DataInfoParams info{{}, data_.data(), data_.size()};
    OPD_CALL(cuptiRangeProfilerGetCounterDataInfo, info);
    if (!info.ranges) return {};
    std::vector<double> values(metrics_.size());
    cupti::ValuesParams wanted;
    wanted.host = host_, wanted.data = data_.data(), wanted.bytes = data_.size();
    wanted.metrics = metrics_.data(), wanted.count = metrics_.size(), wanted.values = values.data();
    OPD_CALL(cuptiProfilerHostEvaluateToGpuValues, wanted);
    return values;
  }
  void change(Counting *begins, Counting *ends) {
    if (api_.is_inherited())
      fail(OPD_UNSUPPORTED, "kernels cannot be counted in a child of fork(): the driver was started in the parent");
    const std::scoped_lock lock(guard_);
    const auto leave = [&] { std::erase(open_, ends); };
    if (is_broken_) {
      leave();
      fail(OPD_FAILED_PRECONDITION, "kernels of cuda:", device_.number(), " are not counted any more after an error");
    }
    is_broken_ = true;  // stays true if the code below throws
    try {
      const CurrentContext current(device_);
      if (is_counting_) end_stretch();
      leave();
      if (begins) open_.push_back(begins);
      if (!open_.empty()) begin_stretch();
    } catch (...) {
      leave();
      std::erase(open_, begins);
      throw;
    }
    is_broken_ = false;
  }
  template <class Params>
  void call(cupti::Status (*function)(Params *), const char *name, Params &params) const {
    if (const cupti::Status status = function(&params))
      fail(OPD_UNSUPPORTED, "kernels of cuda:", device_.number(), " cannot be counted: ", name, " returned ",
           cupti::Api::get().status_name(status));
  }

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

CuptiCounterSet::CuptiCounterSet(const DeviceContext &device, std::span<const std::string> metrics)
    : device_(device), api_(cupti::RangeApi::get()), names_(metrics.begin(), metrics.end()) {
  require(!names_.empty(),
          "the collector device counts on CUDA what is named: metrics of CUPTI, as sm__inst_executed.sum");
  for (const std::string &name : names_) {
    require(name.ends_with(".sum"), "the counts of kernels are added up, so a metric of CUPTI must end with .sum, but ",
            name, " does not");
    metrics_.push_back(name.c_str());
  }
  const KeptSignalHandlers kept;
  try {
    configure();
    enable();
  } catch (...) {
    end();
    throw;
  }
}

#undef OPD_CALL

}  // namespace

std::string absence_of_cupti_counters() {
  const cupti::Api &cupti = cupti::Api::get();
  return cupti.absence.empty() ? cupti::RangeApi::get().absence : cupti.absence;
}

std::unique_ptr<DeviceCounterSet> open_cupti_counters(const DeviceContext &device,
                                                      std::span<const std::string> metrics) {
  return std::make_unique<CuptiCounterSet>(device, metrics);
}

}  // namespace opd::cuda
