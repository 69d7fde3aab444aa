// Collects power, temperature, clocks and utilization of NVIDIA's GPUs through NVML.
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "base/fork_mutex.h"
#include "device/cuda/cuda_context.h"
#include "device/device.h"
#include "profiler/collector.h"
#include "profiler/nvml.h"
#include "trace/record/device_work.h"

namespace opd {

void nvml::Api::open() {
  {
    const LoaderCall call;
    const auto library = DriverLibrary::open("libnvidia-ml.so.1", absence,
                                             "which comes with NVIDIA's driver (Debian: libnvidia-ml1, from non-free)");
#define OPD_FIND(name, result, parameters) library.require(name, #name);
    OPD_NVML_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
  }
  if (!absence.empty()) return;
  if (const nvml::Status status = nvmlInit_v2())
    absence = concat("libnvidia-ml.so.1 is here, but nvmlInit returned ", status_name(status));
}

std::string nvml::Api::status_name(nvml::Status status) const {
  const char *const text = nvmlErrorString(status);
  return text ? concat(text, " (", status, ")") : concat("error ", status);
}

void nvml::Api::check(nvml::Status status, const char *function) const {
  if (status) fail(OPD_CALL_FAILED, function, " returned ", status_name(status));
}

namespace {

using nvml::Api;

enum Quantity : size_t { kPower, kTemperature, kSmClock, kMemoryClock, kUtilization, kMemoryUtilization, kEnergy };
constexpr size_t kNumQuantities = kEnergy + 1;
using Readings = std::array<double, kNumQuantities>;

struct Known {
  const char *before, *behind;  // parts of the column's name before and after the GPU's number
  nvml::Status (*read)(const Api &api, nvml::Device *gpu, double &out);
};

template <nvml::Clock which>
nvml::Status read_clock(const Api &api, nvml::Device *gpu, double &out) {
  uint32_t mhz = 0;
  const nvml::Status status = api.nvmlDeviceGetClockInfo(gpu, which, &mhz);
  return out = mhz, status;
}
template <uint32_t nvml::Utilization::*which>
nvml::Status read_utilization(const Api &api, nvml::Device *gpu, double &out) {
  nvml::Utilization percent{};
  const nvml::Status status = api.nvmlDeviceGetUtilizationRates(gpu, &percent);
  return out = percent.*which, status;
}
nvml::Status read_power(const Api &api, nvml::Device *gpu, double &out) {
  uint32_t mw = 0;
  const nvml::Status status = api.nvmlDeviceGetPowerUsage(gpu, &mw);
  return out = mw / 1e3, status;
}
nvml::Status read_temperature(const Api &api, nvml::Device *gpu, double &out) {
  uint32_t degrees = 0;
  const nvml::Status status = api.nvmlDeviceGetTemperature(gpu, nvml::kGpuSensor, &degrees);
  return out = degrees, status;
}
nvml::Status read_energy(const Api &api, nvml::Device *gpu, double &out) {
  unsigned long long mj = 0;
  const nvml::Status status = api.nvmlDeviceGetTotalEnergyConsumption(gpu, &mj);
  return out = static_cast<double>(mj) * 1e3, status;
}

// The energy has the name and unit of the processor's energy (perf_counters.cc).
constexpr Known kKnown[kNumQuantities] = {
    {"Power draw of GPU ", " (W)", read_power},
    {"Temperature of GPU ", " (C)", read_temperature},
    {"SM clock of GPU ", " (MHz)", read_clock<nvml::kSmClock>},
    {"Memory clock of GPU ", " (MHz)", read_clock<nvml::kMemoryClock>},
    {"Utilization of GPU ", " (%)", read_utilization<&nvml::Utilization::gpu>},
    {"Memory utilization of GPU ", " (%)", read_utilization<&nvml::Utilization::memory>},
    {"Energy of GPU ", " (uJ)", read_energy},
};

// One GPU. NVML updates its values ten to fifty times a second, and reading them takes up to milliseconds. So
// consecutive calls share a reading.
class Gpu {
 public:
  Gpu(const Api &api, nvml::Device *handle) : api_(api), handle_(handle) {
    api.check(api.nvmlDeviceGetIndex(handle, &index_), "nvmlDeviceGetIndex");
    for (size_t i = 0; i < kNumQuantities; ++i) {
      const std::string name = concat(kKnown[i].before, index_, kKnown[i].behind);
      double value = 0;
      const nvml::Status status = kKnown[i].read(api, handle, value);
      if (status == nvml::kNotSupported) missing_ += concat(missing_.empty() ? "" : ", ", name);
      else api.check(status, name.c_str());
      if (status == nvml::kSuccess) names_[i] = name, ids_[i] = name_id(name), values_[i] = value;
    }
    read_ns_ = monotonic_ns();
  }
  Gpu(const Gpu &) = delete;

  uint32_t index() const { return index_; }
  const std::string &missing() const { return missing_; }  // names of the values that it does not report, as text
  bool tells(Quantity quantity) const { return !names_[quantity].empty(); }
  const std::string &name_of(size_t quantity) const { return names_[quantity]; }

  // Thread-safe. If several threads call it at once, one reads NVML and the others get the previous readings.
  Readings now() {
    constexpr uint64_t kFreshNs = 1'000'000;
    uint64_t before = read_ns_.load();
    const uint64_t at = monotonic_ns();
    if (at - before >= kFreshNs && read_ns_.compare_exchange_strong(before, at)) read();
    Readings readings{};
    for (size_t i = 0; i < kNumQuantities; ++i) readings[i] = values_[i].load(std::memory_order_relaxed);
    return readings;
  }

 private:
  void read() {
    for (size_t i = 0; i < kNumQuantities; ++i) {
      if (names_[i].empty()) continue;
      double value = 0;
      if (const nvml::Status status = kKnown[i].read(api_, handle_, value))
        fail(OPD_CALL_FAILED, names_[i], " can no longer be read: NVML returned ", api_.status_name(status));
      values_[i].store(value, std::memory_order_relaxed);
      if (i != kEnergy) add_counter_event(ids_[i], {kDLCUDA, static_cast<int32_t>(index_)}, value);
    }
  }

  const Api &api_;
  nvml::Device *const handle_;
  uint32_t index_ = 0;
  std::string missing_;
  std::array<std::string, kNumQuantities> names_;  // names of columns; "": the GPU does not report the value
  std::array<NameId, kNumQuantities> ids_{};
  std::array<std::atomic<double>, kNumQuantities> values_{};
  std::atomic<uint64_t> read_ns_{0};
};

class NvmlCollector final : public Collector {
 public:
  explicit NvmlCollector(const Api &api) : Collector("nvml"), api_(api) {}

  // Selects the GPUs of the run's CUDA devices. Without such devices, selects all: an OpenCL driver, for example, uses
  // one.
  void init(std::span<const DLDevice> devices) override {
    check_process();
    gpus_.clear(), by_device_.clear();
    for (const DLDevice device : devices)
      if (device.device_type == kDLCUDA) by_device_[device.device_id] = &gpu_of(device.device_id);
    if (!by_device_.empty()) return;
    uint32_t count = 0;
    api_.check(api_.nvmlDeviceGetCount_v2(&count), "nvmlDeviceGetCount");
    for (uint32_t i = 0; i < count; ++i) {
      nvml::Device *handle = nullptr;
      api_.check(api_.nvmlDeviceGetHandleByIndex_v2(i, &handle), "nvmlDeviceGetHandleByIndex");
      gpus_.push_back(std::make_unique<Gpu>(api_, handle));
    }
  }

  void *start(DLDevice device) override {
    check_process();
    auto state = std::make_unique<State>();
    if (by_device_.empty()) {
      for (const auto &gpu : gpus_) state->push_back({gpu.get(), gpu->now()[kEnergy]});
    } else if (const auto found = by_device_.find(device.device_id);
               device.device_type == kDLCUDA && found != by_device_.end()) {
      state->push_back({found->second, found->second->now()[kEnergy]});
    }
    return state->empty() ? nullptr : state.release();
  }

  void stop(void *given, MetricList &out) override {
    const std::unique_ptr<State> state(static_cast<State *>(given));
    check_process();
    for (const auto &[gpu, energy] : *state) {
      const Readings now = gpu->now();
      for (size_t i = 0; i < kEnergy; ++i)
        if (gpu->tells(static_cast<Quantity>(i)))
          out.set(gpu->name_of(i), Metric::of_number(MetricKind::kRatio, now[i]));
      if (gpu->tells(kEnergy))
        out.set(gpu->name_of(kEnergy), Metric::of_count(static_cast<int64_t>(now[kEnergy] - energy)));
    }
  }

  std::string note() override {
    std::string missing;
    for (const auto &gpu : gpus_)
      if (!gpu->missing().empty()) missing += concat(missing.empty() ? "" : ", ", gpu->missing());
    return missing.empty() ? "" : concat("NVML does not report on this machine: ", missing);
  }
  std::string shared() override { return "of the whole GPU"; }

 private:
  struct Begun {
    Gpu *gpu;
    double energy;
  };
  using State = std::vector<Begun>;

  void check_process() const {
    if (api_.is_inherited())
      fail(OPD_UNSUPPORTED, "NVML cannot be used in a child of fork(): it was started in the parent");
  }
  // CUDA and NVML number GPUs differently, so GPUs are matched by their PCI bus ids.
  Gpu &gpu_of(int32_t cuda_device) {
    const std::string place = cuda::get_cuda_device(cuda_device).pci_bus_id();
    nvml::Device *handle = nullptr;
    api_.check(api_.nvmlDeviceGetHandleByPciBusId_v2(place.c_str(), &handle), "nvmlDeviceGetHandleByPciBusId");
    return *gpus_.emplace_back(std::make_unique<Gpu>(api_, handle));
  }

  const Api &api_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::map<int32_t, Gpu *> by_device_;  // key: number of the CUDA device; empty: the run has none
};

}  // namespace

Ref<Collector> make_nvml_collector() {
  const Api &api = Api::get();
  if (!api.absence.empty()) fail(OPD_UNSUPPORTED, "GPUs cannot be observed by NVML: ", api.absence);
  uint32_t count = 0;
  api.check(api.nvmlDeviceGetCount_v2(&count), "nvmlDeviceGetCount");
  if (!count) fail(OPD_UNSUPPORTED, "GPUs cannot be observed by NVML: NVIDIA's driver is here, but it has no GPU");
  return make_object<NvmlCollector>(api);
}

}  // namespace opd
