// What devices count of the kernels in a call.
#include <algorithm>
#include <memory>

#include "device/device.h"
#include "profiler/collector.h"

namespace opd {
namespace {

class DeviceCollector final : public Collector {
 public:
  static int32_t type() { return Collector::type(); }
  DeviceCollector() : Collector("device") {}

  void init(std::span<const DLDevice> devices) override {
    note_.clear();
    for (const DLDevice device : devices)
      if (const std::string absence = device_backend(device).counters_absence(device.device_id); !absence.empty())
        note_ += concat(note_.empty() ? "" : "; ", device_name(device), ": ", absence);
  }
  void *start(DLDevice device) override { return device_backend(device).start_counters(device.device_id).release(); }
  void stop(void *state, MetricList &out) override {
    const std::unique_ptr<DeviceCounters> counters(static_cast<DeviceCounters *>(state));
    for (const auto &[name, value] : counters->stop()) out.set(name, Metric::of_count(static_cast<int64_t>(value)));
  }
  std::string note() override { return note_; }

 private:
  std::string note_;  // the run's devices without counters
};

}  // namespace

Ref<Collector> make_device_collector() {
  std::string absences;
  for (const DLDeviceType kind : {kDLVulkan, kDLOpenCL, kDLCUDA}) {  // those that may have some first
    const std::string absence = find_kind(kind)->counters_absence(0);
    if (absence.empty()) return make_object<DeviceCollector>();
    absences += concat("; ", device_kind_name(kind), ": ", absence);
  }
  fail(OPD_UNSUPPORTED, "no device here has counters that opdyno reads", absences);
}

}  // namespace opd
