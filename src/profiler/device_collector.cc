// Collects devices' counters for the kernels in a call, and a device's tensor memory during a call.
#include <map>
#include <memory>

#include "device/device.h"
#include "device/memory/device_memory.h"
#include "profiler/collector.h"

namespace opd {
namespace {

class DeviceCollector final : public Collector {
 public:
  explicit DeviceCollector(std::vector<std::string> names) : Collector("device"), names_(std::move(names)) {}

  void init(std::span<const DLDevice> devices) override {
    note_.clear(), sets_.clear();
    for (const DLDevice device : devices) {
      DeviceBackend &backend = device_backend(device);
      const std::string absence = backend.counters_absence(device.device_id);
      if (absence.empty()) sets_[key(device)] = backend.open_counters(device.device_id, names_);
      else if (device.device_type == kDLCPU && devices.size() > 1) continue;  // every run has the host
      else note_ += concat(note_.empty() ? "" : "; ", device_name(device), ": ", absence);
    }
  }
  void *start(DLDevice device) override {
    const auto set = sets_.find(key(device));
    return set == sets_.end() ? nullptr : set->second->start().release();
  }
  void stop(void *state, MetricList &out) override {
    const std::unique_ptr<DeviceCounters> counters(static_cast<DeviceCounters *>(state));
    for (const auto &[name, value] : counters->stop()) out.set(name, Metric::of_count(static_cast<int64_t>(value)));
  }
  void finish() noexcept override { sets_.clear(); }
  std::string note() override { return note_; }
  std::string shared() override { return names_.empty() ? "" : "of CUDA devices: of the whole device"; }

 private:
  using Key = std::pair<int32_t, int32_t>;
  static Key key(DLDevice device) { return {device.device_type, device.device_id}; }

  const std::vector<std::string> names_;  // names of counters; ignored by devices with unnamed counters
  std::string note_;                      // lists the run's devices without counters
  std::map<Key, std::unique_ptr<DeviceCounterSet>> sets_;
};

class MemoryCollector final : public Collector {
 public:
  MemoryCollector() : Collector("memory") {}

  void init(std::span<const DLDevice>) override {}

  void *start(DLDevice device) override { return std::make_unique<State>(DeviceMemory::of(device)).release(); }

  void stop(void *given, MetricList &out) override {
    const std::unique_ptr<State> state(static_cast<State *>(given));
    const DeviceMemory::Flow end = state->memory.flow();
    const auto give = [&](std::string_view name, uint64_t bytes) {
      out.set(name, Metric{metric_kind_of(OPD_METRIC_BYTES), bytes});
    };
    give("Allocated (bytes)", end.allocated - state->begin.allocated);
    give("Freed (bytes)", end.freed - state->begin.freed);
    give("Peak (bytes)", state->window.close());
  }

  std::string shared() override { return "of the whole device"; }

 private:
  struct State {
    explicit State(DeviceMemory &of) : memory(of), window(of), begin(of.flow()) {}
    DeviceMemory &memory;
    DeviceMemory::PeakWindow window;
    DeviceMemory::Flow begin;
  };
};

}  // namespace

Ref<Collector> make_memory_collector() { return make_object<MemoryCollector>(); }

Ref<Collector> make_device_collector(const CounterOptions &options) {
  std::vector<std::string> names;
  for (const CounterOptions::Event &event : options.events) names.push_back(event.name);
  std::string absences;
  for (const DLDeviceType kind : {kDLVulkan, kDLCUDA, kDLOpenCL}) {  // the kinds that may have counters
    const std::string absence = find_kind(kind)->counters_absence(0);
    if (absence.empty()) return make_object<DeviceCollector>(std::move(names));
    absences += concat("; ", device_kind_name(kind), ": ", absence);
  }
  fail(OPD_UNSUPPORTED, "no device here has counters that opdyno reads", absences);
}

}  // namespace opd
